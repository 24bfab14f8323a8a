from rpd_core import Component, hookimpl


@hookimpl
def rpd_measures():
    summary = "Overlap of mutation and failure"
    return [Component("jaccard", "rpd_jaccard_measure:Jaccard", summary, runs_code=False)]
