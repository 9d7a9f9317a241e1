"""The site of the documents, which `make site` builds in the folder `site/`."""
