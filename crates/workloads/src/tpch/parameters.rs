//! The parameters of the queries (clause 2.4), drawn from the seed of the run.

use dsbench_core::random::Stream;
use tpchgen::distribution::{Distribution, Distributions};

use super::rows::day;

/// Queries of a stream.
pub const QUERIES: usize = 22;

/// A parameter by its name in the text.
pub type Parameter = (&'static str, String);

/// What draws the parameters of one query.
struct Draw {
    stream: Stream,
    /// Whether a day is written as a text.
    plain: bool,
}

impl Draw {
    fn between(&mut self, low: i64, high: i64) -> i64 {
        self.stream.between(low, high)
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.stream.below(of.len() as u64) as usize]
    }

    fn of(&mut self, list: &Distribution) -> String {
        self.one(list.get_values()).to_string()
    }

    /// So many different numbers.
    fn different(&mut self, many: usize, low: i64, high: i64) -> Vec<i64> {
        let mut drawn = Vec::with_capacity(many);
        while drawn.len() < many {
            let number = self.between(low, high);
            if !drawn.contains(&number) {
                drawn.push(number);
            }
        }
        drawn
    }

    fn brand(&mut self) -> String {
        format!("Brand#{}{}", self.between(1, 5), self.between(1, 5))
    }

    /// Words `from` on of a name that consists of several.
    fn words(&mut self, list: &Distribution, words: std::ops::Range<usize>) -> String {
        let name = self.of(list);
        name.split(' ').skip(words.start).take(words.len()).collect::<Vec<_>>().join(" ")
    }

    fn literal(&self, (year, month, of_month): (i64, i64, i64)) -> String {
        let text = format!("{year:04}-{month:02}-{of_month:02}");
        if self.plain {
            format!("'{text}'")
        } else {
            format!("DATE '{text}'")
        }
    }

    /// The first of a month, counted from January 1993, and the first so many months later.
    fn months(&mut self, first: i64, last: i64, length: i64) -> [Parameter; 2] {
        let at = self.between(first, last);
        let literal = |month: i64| self.literal((1993 + month / 12, month % 12 + 1, 1));
        [("{date}", literal(at)), ("{end}", literal(at + length))]
    }

    /// One of the years 1993 to 1997, whole.
    fn year(&mut self) -> [Parameter; 2] {
        let year = self.between(1993, 1997);
        [("{date}", self.literal((year, 1, 1))), ("{end}", self.literal((year + 1, 1, 1)))]
    }
}

/// The default parameters of query `query` (from 1) at scale factor 1, to which there are published answers.
pub fn default(query: usize, plain: bool) -> Vec<Parameter> {
    let of = Draw { stream: Stream::new(0, 0, 0), plain };
    let days = |from, end| vec![("{date}", of.literal(from)), ("{end}", of.literal(end))];
    let texts = |all: &[(&'static str, &str)]| all.iter().map(|(name, text)| (*name, text.to_string())).collect();
    let and = |all: Vec<Parameter>, more: &[(&'static str, &str)]| [all, texts(more)].concat();
    match query {
        // 90 days before 1998-12-01.
        1 => vec![("{date}", of.literal((1998, 9, 2)))],
        2 => texts(&[("{size}", "15"), ("{type}", "BRASS"), ("{region}", "EUROPE")]),
        3 => and(vec![("{date}", of.literal((1995, 3, 15)))], &[("{segment}", "BUILDING")]),
        4 => days((1993, 7, 1), (1993, 10, 1)),
        5 => and(days((1994, 1, 1), (1995, 1, 1)), &[("{region}", "ASIA")]),
        6 => and(days((1994, 1, 1), (1995, 1, 1)), &[("{least}", "0.05"), ("{most}", "0.07"), ("{quantity}", "24")]),
        7 => texts(&[("{nation}", "FRANCE"), ("{nation2}", "GERMANY")]),
        8 => texts(&[("{nation}", "BRAZIL"), ("{region}", "AMERICA"), ("{type}", "ECONOMY ANODIZED STEEL")]),
        9 => texts(&[("{color}", "green")]),
        10 => days((1993, 10, 1), (1994, 1, 1)),
        11 => texts(&[("{nation}", "GERMANY"), ("{fraction}", "0.0001000000")]),
        12 => and(days((1994, 1, 1), (1995, 1, 1)), &[("{mode}", "MAIL"), ("{mode2}", "SHIP")]),
        13 => texts(&[("{word}", "special"), ("{word2}", "requests")]),
        14 => days((1995, 9, 1), (1995, 10, 1)),
        15 => days((1996, 1, 1), (1996, 4, 1)),
        16 => texts(&[
            ("{brand}", "Brand#45"),
            ("{type}", "MEDIUM POLISHED"),
            ("{sizes}", "49, 14, 23, 45, 19, 3, 36, 9"),
        ]),
        17 => texts(&[("{brand}", "Brand#23"), ("{container}", "MED BOX")]),
        18 => texts(&[("{quantity}", "300")]),
        19 => texts(&[
            ("{quantity}", "1"),
            ("{quantity2}", "10"),
            ("{quantity3}", "20"),
            ("{brand}", "Brand#12"),
            ("{brand2}", "Brand#23"),
            ("{brand3}", "Brand#34"),
        ]),
        20 => and(days((1994, 1, 1), (1995, 1, 1)), &[("{color}", "forest"), ("{nation}", "CANADA")]),
        21 => texts(&[("{nation}", "SAUDI ARABIA")]),
        _ => texts(&[("{codes}", "'13', '31', '23', '29', '30', '18', '17'")]),
    }
}

/// Nations lie in regions by the order of the list: the region of each.
const REGION_OF: [usize; 25] = [0, 1, 1, 1, 4, 0, 3, 3, 2, 2, 4, 4, 2, 4, 0, 0, 0, 1, 2, 3, 4, 2, 3, 3, 1];

/// The parameters of query `query` (from 1) in stream `stream` of a run, of which `hundredths` are the scale factor.
pub fn draw(seed: u64, run: u64, stream: u64, query: usize, hundredths: u64, plain: bool) -> Vec<Parameter> {
    let lists = Distributions::static_default();
    let mut draw = Draw { stream: Stream::new(seed, run << 32 | stream, query as u64), plain };
    let nation = |draw: &mut Draw| {
        let at = draw.between(0, 24) as usize;
        (lists.nations().get_value(at).to_string(), REGION_OF[at])
    };
    match query {
        1 => {
            let (year, month, of_month) = day(-draw.between(60, 120) + DECEMBER_1998);
            vec![("{date}", draw.literal((year, month, of_month)))]
        }
        2 => vec![
            ("{size}", draw.between(1, 50).to_string()),
            ("{type}", draw.words(lists.part_types(), 2..3)),
            ("{region}", draw.of(lists.regions())),
        ],
        3 => {
            let segment = draw.of(lists.market_segments());
            let of_month = draw.between(1, 31);
            vec![("{segment}", segment), ("{date}", draw.literal((1995, 3, of_month)))]
        }
        4 | 15 => draw.months(0, 57, 3).into(),
        5 => [vec![("{region}", draw.of(lists.regions()))], draw.year().into()].concat(),
        6 => {
            let (years, discount, quantity) = (draw.year(), draw.between(2, 9), draw.between(24, 25));
            let hundredth = |number: i64| format!("0.{number:02}");
            let bounds = [("{least}", hundredth(discount - 1)), ("{most}", hundredth(discount + 1))];
            [years.to_vec(), bounds.to_vec(), vec![("{quantity}", quantity.to_string())]].concat()
        }
        7 => {
            let two = draw.different(2, 0, 24);
            let name = |at: i64| lists.nations().get_value(at as usize).to_string();
            vec![("{nation}", name(two[0])), ("{nation2}", name(two[1]))]
        }
        8 => {
            let (name, region) = nation(&mut draw);
            let region = lists.regions().get_value(region).to_string();
            vec![("{nation}", name), ("{region}", region), ("{type}", draw.of(lists.part_types()))]
        }
        9 => vec![("{color}", draw.of(lists.part_colors()))],
        10 => draw.months(1, 24, 3).into(),
        11 => {
            // 0.0001 / SF; SF is in hundredths.
            let fraction = format!("{:.10}", 0.01 / hundredths as f64);
            vec![("{nation}", nation(&mut draw).0), ("{fraction}", fraction)]
        }
        12 => {
            let modes = lists.ship_modes().get_values();
            let two = draw.different(2, 0, modes.len() as i64 - 1);
            let mode = |at: i64| modes[at as usize].to_string();
            [vec![("{mode}", mode(two[0])), ("{mode2}", mode(two[1]))], draw.year().into()].concat()
        }
        13 => vec![
            ("{word}", draw.one(&["special", "pending", "unusual", "express"]).to_string()),
            ("{word2}", draw.one(&["packages", "requests", "accounts", "deposits"]).to_string()),
        ],
        14 => draw.months(0, 59, 1).into(),
        16 => {
            let (brand, kind) = (draw.brand(), draw.words(lists.part_types(), 0..2));
            let sizes: Vec<String> = draw.different(8, 1, 50).iter().map(i64::to_string).collect();
            vec![("{brand}", brand), ("{type}", kind), ("{sizes}", sizes.join(", "))]
        }
        17 => vec![("{brand}", draw.brand()), ("{container}", draw.of(lists.part_containers()))],
        18 => vec![("{quantity}", draw.between(312, 315).to_string())],
        19 => vec![
            ("{quantity}", draw.between(1, 10).to_string()),
            ("{quantity2}", draw.between(10, 20).to_string()),
            ("{quantity3}", draw.between(20, 30).to_string()),
            ("{brand}", draw.brand()),
            ("{brand2}", draw.brand()),
            ("{brand3}", draw.brand()),
        ],
        20 => {
            let color = draw.of(lists.part_colors());
            [vec![("{color}", color), ("{nation}", nation(&mut draw).0)], draw.year().into()].concat()
        }
        21 => vec![("{nation}", nation(&mut draw).0)],
        _ => {
            let codes: Vec<String> = draw.different(7, 10, 34).iter().map(|code| format!("'{code}'")).collect();
            vec![("{codes}", codes.join(", "))]
        }
    }
}

/// 1998-12-01, in days since 1970.
const DECEMBER_1998: i64 = 10_561;

/// The order of the queries in each stream (appendix A); stream 0 is that of the power test.
pub const ORDERS: [[u8; QUERIES]; 41] = [
    [14, 2, 9, 20, 6, 17, 18, 8, 21, 13, 3, 22, 16, 4, 11, 15, 1, 10, 19, 5, 7, 12],
    [21, 3, 18, 5, 11, 7, 6, 20, 17, 12, 16, 15, 13, 10, 2, 8, 14, 19, 9, 22, 1, 4],
    [6, 17, 14, 16, 19, 10, 9, 2, 15, 8, 5, 22, 12, 7, 13, 18, 1, 4, 20, 3, 11, 21],
    [8, 5, 4, 6, 17, 7, 1, 18, 22, 14, 9, 10, 15, 11, 20, 2, 21, 19, 13, 16, 12, 3],
    [5, 21, 14, 19, 15, 17, 12, 6, 4, 9, 8, 16, 11, 2, 10, 18, 1, 13, 7, 22, 3, 20],
    [21, 15, 4, 6, 7, 16, 19, 18, 14, 22, 11, 13, 3, 1, 2, 5, 8, 20, 12, 17, 10, 9],
    [10, 3, 15, 13, 6, 8, 9, 7, 4, 11, 22, 18, 12, 1, 5, 16, 2, 14, 19, 20, 17, 21],
    [18, 8, 20, 21, 2, 4, 22, 17, 1, 11, 9, 19, 3, 13, 5, 7, 10, 16, 6, 14, 15, 12],
    [19, 1, 15, 17, 5, 8, 9, 12, 14, 7, 4, 3, 20, 16, 6, 22, 10, 13, 2, 21, 18, 11],
    [8, 13, 2, 20, 17, 3, 6, 21, 18, 11, 19, 10, 15, 4, 22, 1, 7, 12, 9, 14, 5, 16],
    [6, 15, 18, 17, 12, 1, 7, 2, 22, 13, 21, 10, 14, 9, 3, 16, 20, 19, 11, 4, 8, 5],
    [15, 14, 18, 17, 10, 20, 16, 11, 1, 8, 4, 22, 5, 12, 3, 9, 21, 2, 13, 6, 19, 7],
    [1, 7, 16, 17, 18, 22, 12, 6, 8, 9, 11, 4, 2, 5, 20, 21, 13, 10, 19, 3, 14, 15],
    [21, 17, 7, 3, 1, 10, 12, 22, 9, 16, 6, 11, 2, 4, 5, 14, 8, 20, 13, 18, 15, 19],
    [2, 9, 5, 4, 18, 1, 20, 15, 16, 17, 7, 21, 13, 14, 19, 8, 22, 11, 10, 3, 12, 6],
    [16, 9, 17, 8, 14, 11, 10, 12, 6, 21, 7, 3, 15, 5, 22, 20, 1, 13, 19, 2, 4, 18],
    [1, 3, 6, 5, 2, 16, 14, 22, 17, 20, 4, 9, 10, 11, 15, 8, 12, 19, 18, 13, 7, 21],
    [3, 16, 5, 11, 21, 9, 2, 15, 10, 18, 17, 7, 8, 19, 14, 13, 1, 4, 22, 20, 6, 12],
    [14, 4, 13, 5, 21, 11, 8, 6, 3, 17, 2, 20, 1, 19, 10, 9, 12, 18, 15, 7, 22, 16],
    [4, 12, 22, 14, 5, 15, 16, 2, 8, 10, 17, 9, 21, 7, 3, 6, 13, 18, 11, 20, 19, 1],
    [16, 15, 14, 13, 4, 22, 18, 19, 7, 1, 12, 17, 5, 10, 20, 3, 9, 21, 11, 2, 6, 8],
    [20, 14, 21, 12, 15, 17, 4, 19, 13, 10, 11, 1, 16, 5, 18, 7, 8, 22, 9, 6, 3, 2],
    [16, 14, 13, 2, 21, 10, 11, 4, 1, 22, 18, 12, 19, 5, 7, 8, 6, 3, 15, 20, 9, 17],
    [18, 15, 9, 14, 12, 2, 8, 11, 22, 21, 16, 1, 6, 17, 5, 10, 19, 4, 20, 13, 3, 7],
    [7, 3, 10, 14, 13, 21, 18, 6, 20, 4, 9, 8, 22, 15, 2, 1, 5, 12, 19, 17, 11, 16],
    [18, 1, 13, 7, 16, 10, 14, 2, 19, 5, 21, 11, 22, 15, 8, 17, 20, 3, 4, 12, 6, 9],
    [13, 2, 22, 5, 11, 21, 20, 14, 7, 10, 4, 9, 19, 18, 6, 3, 1, 8, 15, 12, 17, 16],
    [14, 17, 21, 8, 2, 9, 6, 4, 5, 13, 22, 7, 15, 3, 1, 18, 16, 11, 10, 12, 20, 19],
    [10, 22, 1, 12, 13, 18, 21, 20, 2, 14, 16, 7, 15, 3, 4, 17, 5, 19, 6, 8, 9, 11],
    [10, 8, 9, 18, 12, 6, 1, 5, 20, 11, 17, 22, 16, 3, 13, 2, 15, 21, 14, 19, 7, 4],
    [7, 17, 22, 5, 3, 10, 13, 18, 9, 1, 14, 15, 21, 19, 16, 12, 8, 6, 11, 20, 4, 2],
    [2, 9, 21, 3, 4, 7, 1, 11, 16, 5, 20, 19, 18, 8, 17, 13, 10, 12, 15, 6, 14, 22],
    [15, 12, 8, 4, 22, 13, 16, 17, 18, 3, 7, 5, 6, 1, 9, 11, 21, 10, 14, 20, 19, 2],
    [15, 16, 2, 11, 17, 7, 5, 14, 20, 4, 21, 3, 10, 9, 12, 8, 13, 6, 18, 19, 22, 1],
    [1, 13, 11, 3, 4, 21, 6, 14, 15, 22, 18, 9, 7, 5, 10, 20, 12, 16, 17, 8, 19, 2],
    [14, 17, 22, 20, 8, 16, 5, 10, 1, 13, 2, 21, 12, 9, 4, 18, 3, 7, 6, 19, 15, 11],
    [9, 17, 7, 4, 5, 13, 21, 18, 11, 3, 22, 1, 6, 16, 20, 14, 15, 10, 8, 2, 12, 19],
    [13, 14, 5, 22, 19, 11, 9, 6, 18, 15, 8, 10, 7, 4, 17, 16, 3, 1, 12, 2, 21, 20],
    [20, 5, 4, 14, 11, 1, 6, 16, 8, 22, 7, 3, 2, 12, 21, 19, 17, 13, 10, 15, 18, 9],
    [3, 7, 14, 15, 6, 5, 21, 20, 18, 10, 4, 16, 19, 1, 13, 9, 8, 17, 11, 12, 22, 2],
    [13, 15, 17, 1, 22, 11, 3, 4, 7, 20, 14, 21, 9, 8, 2, 18, 16, 6, 10, 12, 5, 19],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stream_asks_every_query_once() {
        for order in ORDERS {
            let mut sorted = order;
            sorted.sort_unstable();
            assert_eq!(sorted, std::array::from_fn(|at| at as u8 + 1));
        }
    }

    /// Names of the parameters are those of the drawn ones, so no text is left with a brace.
    #[test]
    fn defaults_name_what_is_drawn() {
        for query in 1..=QUERIES {
            let names =
                |all: Vec<Parameter>| all.into_iter().map(|(name, _)| name).collect::<std::collections::BTreeSet<_>>();
            assert_eq!(names(default(query, false)), names(draw(1, 0, 0, query, 100, false)), "Q{query}");
        }
        assert_eq!(default(11, false)[1], draw(1, 0, 0, 11, 100, false)[1]);
    }

    /// The lists as qgen has them (varsub.c): each nation with its region, words of each kind.
    #[test]
    fn nations_lie_in_their_regions() {
        let (lists, of) =
            (Distributions::static_default(), |at: usize| Distributions::static_default().nations().get_value(at));
        let region = |name: &str| lists.regions().get_value(REGION_OF[(0..25).find(|at| of(*at) == name).unwrap()]);
        let known = [("BRAZIL", "AMERICA"), ("GERMANY", "EUROPE"), ("SAUDI ARABIA", "MIDDLE EAST"), ("CHINA", "ASIA")];
        for (nation, wanted) in known.into_iter().chain([("MOZAMBIQUE", "AFRICA"), ("EGYPT", "MIDDLE EAST")]) {
            assert_eq!(region(nation), wanted, "{nation}");
        }
    }

    #[test]
    fn parameters_are_of_the_seed_and_lie_within_their_lists() {
        let drawn = |seed, stream, query| draw(seed, 0, stream, query, 1, false);
        let mut days = Vec::new();
        for seed in 0..2000 {
            days.extend(drawn(seed, 0, 4).into_iter().map(|(_, value)| value));
            let seven: Vec<String> = drawn(seed, 0, 7).into_iter().map(|(_, value)| value).collect();
            assert_ne!(seven[0], seven[1]);
            let (_, codes) = drawn(seed, 0, 22).remove(0);
            let codes: std::collections::BTreeSet<&str> = codes.split(", ").collect();
            assert!(codes.len() == 7 && codes.iter().all(|code| ("'10'"..="'34'").contains(code)), "{codes:?}");
        }
        let (first, last) = (days.iter().min().unwrap(), days.iter().max().unwrap());
        assert_eq!((first.as_str(), last.as_str()), ("DATE '1993-01-01'", "DATE '1998-01-01'"));
        assert!((1..=QUERIES).all(|query| drawn(1, 3, query) == drawn(1, 3, query)));
        assert!((0..20).any(|stream| drawn(1, stream, 9) != drawn(1, 0, 9)));
        assert_eq!(draw(1, 0, 0, 11, 100, false)[1].1, "0.0001000000");
    }
}
