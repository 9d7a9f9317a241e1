"""The site of the documents: `make site` builds it into the folder `site/`."""
