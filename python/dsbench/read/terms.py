"""What the words of reports mean, in a sentence or two: the page of a report and the browser show them."""

from __future__ import annotations

from typing import Final

TERMS: Final = (
    ("cycle", "One repetition of the load, --duration long. Its rate is the number of transactions that ended "
     "in it, divided by the duration. Cycles of a scale share a database, so they are not independent."),
    ("transaction rate", "Median over the cycles of a scale, in transactions per second (tps)."),
    ("interval, ±", "95% confidence interval of the median: two of the ordered cycles, by the binomial "
     "distribution, from five cycles on, and wider if consecutive cycles are correlated. For a percentile: from the "
         "share beyond it in each cycle. It does not cover other days or machines. docs/statistics.md has the "
         "formulas and their sources."),
    ("latency", "From the start of the first attempt to the end of the successful one, as the client sees it. "
     "The paper calls it residence time. In the open loop, the response time counts from the intended "
     "start."),
    ("f", "Sum of all latencies divided by the duration: the mean number of transactions in progress. It "
     "converts latencies into rates."),
    ("percentile as a rate", "A percentile of the latencies, converted into a rate by f. At 95%, this share "
     "of the transactions is fast enough for the rate shown. It is not a confidence interval; the paper calls it "
     "confidence level."),
    ("DSI", "Half the area below the rate over the scale, both in powers of ten. It depends on the range of scales: "
     "compare only runs with profile dsi. There, a difference of 0.1 means rates that differ by 12% at every scale."),
    ("failed attempts", "Attempts that the database rejected, such as serialization failures, including those that "
     "were retried."),
    ("T(X) = X", "The scale at which the rate equals the scale. TPC-B, clause 4.1, requires at least this scale "
     "for a rate."),
)
