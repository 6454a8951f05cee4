"""What the words of reports mean, in a sentence or two: the page of a report and the browser show them."""

from __future__ import annotations

from typing import Final

TERMS: Final = (
    ("cycle", "One interval of demanded duration. Its rate is the transactions that ended in it, divided by the "
     "duration. Cycles of one scale share a database, so they are no independent repetitions."),
    ("transaction rate", "Median over the cycles of a scale, in transactions per second (tps)."),
    ("interval, ±", "Where the median of all cycles there could be lies with 95% confidence: between two of the "
     "cycles in their order, by the binomial distribution, from five cycles on, and wider where neighbours resemble "
     "each other. Of a quantile: what the cycles tell of the share beyond it. It covers no other days or machines. "
     "docs/statistics.md has the formulas and their sources."),
    ("latency", "From the start of the first attempt to the end of the successful one, as the client sees it. "
     "The paper calls it residence time. In the open loop the response time counts from the moment the start was "
     "due."),
    ("f", "Sum of all latencies divided by the demanded time: how many transactions were under way at once on "
     "average. It turns latencies into rates."),
    ("percentile as a rate", "A quantile of the latencies, turned into a rate by f. At 95% this share of the "
     "transactions is fast enough for the rate shown. It is not a confidence interval; the paper calls it "
     "confidence level."),
    ("DSI", "Half the area below the rate over the scale, both in powers of ten. It depends on the range of scales: "
     "only runs of the profile dsi can be compared. Over its four decades a difference of 0.1 means rates that are "
     "12% apart at every scale."),
    ("failed attempts", "Attempts that the database refused, such as serialization failures; those that were tried "
     "again are counted too."),
    ("T(X) = X", "The scale at which the rate equals the scale. TPC-B, clause 4.1, asks for a database of at least "
     "that scale before a rate may be claimed."),
)
