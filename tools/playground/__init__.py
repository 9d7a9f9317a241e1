"""The playground: a static folder that searches worlds and judges stores in the browser."""
