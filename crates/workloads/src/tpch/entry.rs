//! What is special about TPC-H.

use crate::entry::{Defaults, Entry, Headline, Kind, Meaning, Said, Unit};
use crate::settings::{Setting, Values};

/// The kinds: the queries by their numbers, then the two refresh functions.
pub(super) const KINDS: &[Kind; 24] = &[
    Kind::named("Q1"),
    Kind::named("Q2"),
    Kind::named("Q3"),
    Kind::named("Q4"),
    Kind::named("Q5"),
    Kind::named("Q6"),
    Kind::named("Q7"),
    Kind::named("Q8"),
    Kind::named("Q9"),
    Kind::named("Q10"),
    Kind::named("Q11"),
    Kind::named("Q12"),
    Kind::named("Q13"),
    Kind::named("Q14"),
    Kind::named("Q15"),
    Kind::named("Q16"),
    Kind::named("Q17"),
    Kind::named("Q18"),
    Kind::named("Q19"),
    Kind::named("Q20"),
    Kind::named("Q21"),
    Kind::named("Q22"),
    Kind::named("RF1"),
    Kind::named("RF2"),
];

const SETTINGS: &[Setting] = &[
    Setting {
        name: "size",
        values: Values::Part { least: 0.01 },
        default: "1",
        help:
            "scale factor of a scale of 1, in hundredths: --scales 1,10 --set size=0.01 are scale factors 0.01 and 0.1",
    },
    Setting {
        name: "streams",
        values: Values::Whole { least: 0, most: 40 },
        default: "0",
        help: "query streams of the throughput test; 0: as many as the specification asks for at the scale factor",
    },
    Setting {
        name: "tests",
        values: Values::Words(&["both", "power"]),
        default: "both",
        help: "power: the queries alone, without the streams of the throughput test",
    },
    Setting {
        name: "runs",
        values: Values::Whole { least: 1, most: 2 },
        default: "2",
        help: "how often the tests are run; of two the one with the lower figure counts",
    },
    Setting {
        name: "timeout",
        values: Values::Number { least: 0.0, most: 86_400.0 },
        default: "0",
        help: "seconds after which a query is ended, which voids the power of that run; 0: never",
    },
    Setting {
        name: "cold",
        values: Values::Whole { least: 0, most: 100 },
        default: "0",
        help: "after the tests, so many times: before each query a private server is restarted and its files leave the page \
               cache; each query runs three times, first cold, then hot",
    },
    Setting {
        name: "answers",
        values: Values::Words(&["checked", "unchecked", "published"]),
        default: "checked",
        help: "whether each answer is compared with that of a second engine, DuckDB, after the clock; published: before the \
               tests also the published answers to the default parameters, at scale factor 1",
    },
];

/// Its entry in the registry.
pub static ENTRY: Entry = Entry {
    meaning: Meaning { specification: "TPC-H", disclaimer: "no result in the sense of the TPC", ..Meaning::NONE },
    defaults: Defaults {
        quick_scales: &[1],
        course: "power test and throughput test, each to its end",
        retries: true,
        // A query reads one state of the database, beside the refreshes, also where a statement alone does not.
        isolation: "repeatable-read",
        ..Defaults::PLAIN
    },
    settings: SETTINGS,
    ..Entry::plain(
        "tpch",
        Said {
            headline: Headline {
                label: "qph",
                kind: None,
                per_s: 3600,
                about: "queries and refreshes per hour, no QphH",
            },
            ..Said::tps(
                "TPC-H-like",
                "Decision support: 22 queries and two refreshes of a wholesale supplier, alone and as several streams.",
                Unit {
                    name: "scale factor",
                    about: "8.66 million rows, 1 GB as text; --set size=0.01 makes it a hundredth",
                },
            )
        },
        super::open,
        KINDS,
    )
};
