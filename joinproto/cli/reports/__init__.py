"""Reports of checks for other programs: JUnit, SARIF, Markdown, annotations on GitHub."""
