"""Presentations of a check, for people and programs: chart, report, page and file formats.

    joinproto.check.report.Report ──┬─ summary.py   the report in words           on the terminal
                           ├─ chart.py     the run as a sequence chart   on the terminal
                           ├─ page.py      both as one HTML page         .html
                           ├─ itf.py       the Informal Trace Format     .itf.json
                           ├─ paste.py     the run as a pytest test      .py
                           └─ write.py     picks one of these by the name of the file
    a search's ticks ──────── progress.py  one live line                 on standard error

Start with `story.py` (the events of a run), `words.py` (their sentences) and `findings.py` (the
parts of a report).  Chart and page only lay out the results of these three, so that no
presentation loses a step that another has.  No module here searches or judges: they read a report
(`joinproto/check/report.py`).

On a terminal:

    from joinproto.cli.show.chart import chart
    from joinproto.cli.show.glyphs import glyphs_for
    from joinproto.cli.show.paint import paint_for

    chart(report.trace, width=100, glyphs=glyphs_for(stream), paint=paint_for(stream))
"""
