//! What pgbench's own tests expect (PostgreSQL 18: src/bin/pgbench/t), as data. What is expected otherwise here has
//! its reason beside it.

use dsbench_script::{Action, Random, Scripts, Source, Value};

fn source(text: &str) -> Source {
    Source { name: "script".into(), weight: 1, text: text.into() }
}

fn defined(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect()
}

fn shown(value: Value) -> String {
    let mut text = Vec::new();
    value.write(&mut text);
    let text = String::from_utf8(text).unwrap();
    match value {
        Value::Null => "null".into(),
        other => format!("{} {text}", other.type_name()),
    }
}

/// What `debug` was told, and how the script failed.
type Ended = (Vec<String>, Option<String>);

/// Runs a script to its end, statements left out: as it was read, and once what never changes in it was computed.
fn run(text: &str, pairs: &[(&str, &str)], seed: u64) -> Result<Ended, String> {
    let mut scripts = Scripts::parse(&[source(text)], &defined(pairs)).map_err(|error| format!("{error:#}"))?;
    let found = told(&scripts, seed);
    scripts.settle(&[("scale", Value::Int(1))]);
    assert_eq!(told(&scripts, seed), found, "{text}");
    Ok(found)
}

fn told(scripts: &Scripts, seed: u64) -> Ended {
    let mut memory = scripts.memory();
    // As pgbench seeds the generators of its first client, and the default seed of hashes.
    let mut base = Random::new(seed);
    memory.random = Random::new(base.bits());
    for (name, value) in [("scale", 1), ("client_id", 0), ("random_seed", seed as i64)] {
        memory.define(name, Value::Int(value));
    }
    memory.define("default_seed", Value::Int(base.bits() as i64));
    let (script, mut told, mut at) = (&scripts.scripts[0], Vec::new(), 0);
    loop {
        match script.advance(at, &mut memory, &mut |_, value| told.push(shown(value))) {
            Ok(Some(found)) => {
                if let Action::Sleep(pause) = &script.commands[found].action {
                    if let Err(wrong) = pause.microseconds(&memory) {
                        return (told, Some(wrong.to_string()));
                    }
                }
                at = found + 1;
            }
            Ok(None) => return (told, None),
            Err((_, wrong)) => return (told, Some(wrong.to_string())),
        }
    }
}

const VARIABLES: &[(&str, &str)] =
    &[("foo", "-10.1"), ("bla", "false"), ("i", "+3"), ("n", "null"), ("t", "t"), ("f", "of"), ("d", "1.0")];

/// Expressions with their values; `:n0`, `:d1` and others are set before them.
const EXPRESSIONS: &[(&str, &str)] = &[
    ("random(10, 19)", "int 17"),
    ("random_exponential(100, 199, 10.0)", "int 104"),
    ("random_gaussian(1000, 1999, 10.0)", "int 1498"),
    ("abs(-4)", "int 4"),
    ("greatest(5, 4, 3, 2)", "int 5"),
    ("11 + least(-5, -4, -3, -2)", "int 6"),
    ("int(7.3)", "int 7"),
    ("17 / (4|1) + ( 4 + (7 >> 2))", "int 8"),
    ("- (3 * 4 - (-(~ 1) + -(~ 0))) / -1 + 3 % -1", "int 9"),
    ("10 + (0 + 0 * 0 - 0 / 1)", "int 10"),
    ("10 + :scale", "int 11"),
    ("64 % (((2 + 1 * 2 + (1 # 2) | 4 * (2 & 11)) - (1 << 2)) + 2)", "int 12"),
    ("sqrt(+1.5 * 2.0) * abs(-0.8E1)", "double 13.856406460551"),
    ("double(1 + 1) * (-75.0 / :foo)", "double 14.8514851485149"),
    ("pi() * 4.9", "double 15.39380400259"),
    ("greatest(4, 2, -1.17) * 4.0 * Ln(Exp(1.0))", "double 16"),
    ("least(-5.18, .0E0, 1.0/0) * -3.3", "double 17.094"),
    ("random_zipfian(1, 9, 1.3)", "int 3"),
    ("pow(-3,3)", "double -27"),
    ("pow(2.0,10)", "double 1024"),
    ("pow(0,0)", "double 1"),
    ("pow(0.0,0.0)", "double 1"),
    ("pow(-2,-3)", "double -0.125"),
    ("pow(-2.0,-3.0)", "double -0.125"),
    ("power(-5.0,-5.0)", "double -0.00032"),
    ("pow(9223372036854775807, 2)", "double 8.50705917302346e+37"),
    ("pow(10,30)", "double 1e+30"),
    ("1.0 = 0.0 and 1.0 != 0.0", "boolean false"),
    ("0 = 1 Or 1.0 = 1", "boolean true"),
    ("case when 0 < 1 then 32 else 0 end", "int 32"),
    ("case when true then 33 else 0 end", "int 33"),
    ("case when false THEN -1 when 1 = 1 then 13 + 19 + 2.0 end ", "double 34"),
    (
        "case when (1 > 0) and (1 >= 0) and (0 < 1) and (0 <= 1) and (0 != 1) and (0 = 0) and (0 <> 1) then 35 else 0 \
         end",
        "int 35",
    ),
    (
        "CASE \\\n WHEN (1.0 > 0.0) AND (1.0 >= 0.0) AND \\\r\n (0.0 < 1.0) AND (0.0 <= 1.0) THEN 36 ELSE 0 END",
        "int 36",
    ),
    ("CASE WHEN NOT FALSE THEN 3 * 12.3333334 END", "double 37.0000002"),
    ("case when false then 0 when 1-1 <> 0 then 1 else 38 end", "int 38"),
    ("10 + mod(13 * 7 + 12, 13) - mod(-19 * 11 - 17, 19)", "int 39"),
    (
        "NOT (0 > 1) AND (1 <= 1) AND NOT (0 >= 1) AND (0 < 1) AND NOT (false and true) AND (false OR TRUE) AND \
         (NOT :f) AND (NOT FALSE) AND NOT (NOT TRUE)",
        "boolean true",
    ),
    ("NULL + NULL * exp(NULL)", "null"),
    (":n0", "null"),
    ("NOT (:n0 IS NOT NULL OR :d1 IS NULL)", "boolean true"),
    (":n0 IS NULL AND :d1 IS NOT NULL AND :d1 NOTNULL", "boolean true"),
    (":n0 ISNULL AND NOT :n0 IS TRUE AND :n0 IS NOT FALSE", "boolean true"),
    ("CASE WHEN :n IS NULL THEN 46 ELSE NULL END", "int 46"),
    (":n IS NULL AND NOT :f AND :t", "boolean true"),
    (
        "CASE WHEN 1 THEN TRUE END AND CASE WHEN 1.0 THEN TRUE END AND CASE WHEN :n THEN NULL ELSE TRUE END",
        "boolean true",
    ),
    ("hash(10, 5432)", "int -5817877081768721676"),
    ("hash(10, 5432) = hash_murmur2(10, 5432)", "boolean true"),
    ("hash_fnv1a(10, 5432)", "int -7793829335365542153"),
    ("hash(10) = hash(10, :default_seed)", "boolean true"),
    ("case when :zy = 0 then -1 else (1 / :zy) end", "int -1"),
    ("case when :zy = 0 or (1 / :zy) < 0 then -1 else (1 / :zy) end", "int -1"),
    ("case when :zy > 0 and (1 / :zy) < 0 then (1 / :zy) else 1 end", "int 1"),
    (":scale", "int 1"),
    (":client_id", "int 0"),
    (":random_seed", "int 5432"),
    ("-9223372036854775808", "int -9223372036854775808"),
    ("-(-9223372036854775808 + 1)", "int 9223372036854775807"),
    ("permute(0, 2) + permute(1, 2) = 1", "boolean true"),
    ("permute(0, 3) + permute(1, 3) + permute(2, 3) = 3", "boolean true"),
    ("permute(0, 4) + permute(1, 4) + permute(2, 4) + permute(3, 4) = 6", "boolean true"),
    ("permute(0, 5) + permute(1, 5) + permute(2, 5) + permute(3, 5) + permute(4, 5) = 10", "boolean true"),
    (":p >= 0 and :p < :size and :p = permute(:v + :size, :size) and :p <> permute(:v + 1, :size)", "boolean true"),
    ("permute(:v, 1) = 0", "boolean true"),
    (
        "permute(0, 2, 5431) = 0 and permute(1, 2, 5431) = 1 and permute(0, 2, 5433) = 1 and permute(1, 2, 5433) = 0",
        "boolean true",
    ),
    ("permute(9223372036854775796, 9223372036854775797, 5432)", "int 520382784483822430"),
    ("permute(9223372036854775795, 9223372036854775797, 5432)", "int 1143715004660802862"),
    ("permute(9223372036854775794, 9223372036854775797, 5432)", "int 447293596416496998"),
    ("permute(9223372036854775793, 9223372036854775797, 5432)", "int 916527772266572956"),
    ("permute(9223372036854775792, 9223372036854775797, 5432)", "int 2763809008686028849"),
    ("permute(9223372036854775791, 9223372036854775797, 5432)", "int 8648551549198294572"),
    ("permute(9223372036854775790, 9223372036854775797, 5432)", "int 4542876852200565125"),
];

#[test]
fn expressions_have_the_values_that_pgbench_gives_them() {
    // Nothing but what pgbench's script draws before may be drawn here: the sanity checks of permute come last there.
    let before = "\\set n0 NULL\n\\set d1 false\n\\set zy 0\n\\set size 100\n\\set v 7\n\\set p permute(:v, :size)\n";
    let lines: Vec<String> =
        EXPRESSIONS.iter().enumerate().map(|(at, (text, _))| format!("\\set x{at} debug({text})\n")).collect();
    let (told, failed) = run(&(before.to_string() + &lines.concat()), VARIABLES, 5432).unwrap();
    assert_eq!(failed, None);
    for ((text, wanted), found) in EXPRESSIONS.iter().zip(&told) {
        assert_eq!(found, wanted, "{text}");
    }
    assert_eq!(told.len(), EXPRESSIONS.len());
}

#[test]
fn branches_are_taken_as_conditions_say() {
    let text = "\\set nope 0\n\
        \\if 1 > 0\n\\set id debug(65)\n\\elif 0\n\\set nope 1\n\\else\n\\set nope 1\n\\endif\n\
        \\if 1 < 0\n\\set nope 1\n\\elif 1 > 0\n\\set ie debug(74)\n\\else\n\\set nope 1\n\\endif\n\
        \\if 1 < 0\n\\set nope 1\n\\elif 1 < 0\n\\set nope 1\n\\else\n\\set if debug(83)\n\\endif\n\
        \\if 1 = 1\n\\set ig debug(86)\n\\elif 0\n\\set nope 1\n\\endif\n\
        \\if 1 = 0\n\\set nope 1\n\\elif 1 <> 0\n\\set ih debug(93)\n\\endif\n\
        \\if false\n\\if true\n\\set nope 1\n\\else\n\\set nope 1\n\\endif\n\\elif false\n\\if true\n\\set nope 1\n\
        \\elif true\n\\set nope 1\n\\endif\n\\else\n\\if false\n\\set nope 1\n\\elif false\n\\set nope 1\n\\else\n\
        \\set in debug(100)\n\\endif\n\\endif\n\
        \\if true\n\\set io debug(101)\n\\else\n\\if true\n\\set nope 1\n\\else\n\\set nope 1\n\\endif\n\\endif\n\
        \\set nope debug(:nope)\n";
    let (told, failed) = run(text, &[], 1).unwrap();
    assert_eq!(failed, None);
    assert_eq!(told, ["int 65", "int 74", "int 83", "int 86", "int 93", "int 100", "int 101", "int 0"]);
}

#[test]
fn sleeps_take_numbers_variables_and_units() {
    let text =
        "\\set zero 0\n\\set one 1.0\n\\sleep :one ms\n\\sleep 100 us\n\\sleep 0 s\n\\sleep :zero\n\\sleep 2ms\n";
    let scripts = Scripts::parse(&[source(text)], &[]).unwrap();
    let mut memory = scripts.memory();
    let (script, mut at, mut waits) = (&scripts.scripts[0], 0, Vec::new());
    while let Ok(Some(found)) = script.advance(at, &mut memory, &mut |_, _| ()) {
        if let Action::Sleep(pause) = script.commands[found].action {
            waits.push(pause.microseconds(&memory).unwrap());
        }
        at = found + 1;
    }
    assert_eq!(waits, [1000, 100, 0, 0, 2000]);
}

/// Scripts that are refused before they run, and what is said.
const REFUSED: &[(&str, &str)] = &[
    ("\\if 1", "\\if without matching \\endif"),
    ("\\elif 1", "\\elif without matching \\if"),
    ("\\else", "\\else without matching \\if"),
    ("\\endif", "\\endif without matching \\if"),
    ("\\if 1\n\\else\n\\elif 0\n\\endif", "script:3: \\elif after \\else"),
    ("\\if 1\n\\else\n\\else\n\\endif", "\\else after \\else"),
    ("\\if\n\\endif\n", "syntax error in command \"if\""),
    ("\\if 0\n\\elif +\n\\endif\n", "syntax error in command \"elif\""),
    ("\\if 0\n\\else BAD\n\\endif\n", "unexpected argument in command \"else\""),
    ("\\if 0\n\\endif BAD\n", "unexpected argument in command \"endif\""),
    ("\\set i least()\n", "at least one argument expected (least)"),
    ("\\set i greatest()\n", "at least one argument expected (greatest)"),
    ("\\set i hash()\n", "unexpected number of arguments (hash)"),
    ("\\set i hash(1,2,3)\n", "unexpected number of arguments (hash)"),
    ("\\set i 100000000000000000000\n", "bigint constant overflow"),
    ("\\set d 1.0E309\n", "double constant overflow"),
    ("\\set d .1E310\n", "double constant overflow"),
    ("\\set i 1 +\n", "\\set i 1 +\n          ^ error found here"),
    ("\\set i permute(1)\n", "unexpected number of arguments (permute)"),
    ("\\set i permute(1, 2, 3, 4)\n", "unexpected number of arguments (permute)"),
    ("\\shell", "missing command in command \"shell\""),
    ("\\set i 1 +", "syntax error in command \"set\""),
    ("\\set i noSuchFunction()", "unexpected function name (noSuchFunction) in command \"set\""),
    ("\\set i ;", "unexpected character (;)"),
    ("\\set i", "syntax error"),
    ("\\set", "missing argument in command \"set\""),
    ("\\set i CASE TRUE THEN 1 ELSE 0 END", "syntax error in command \"set\""),
    ("\\set d ln(1.0, 2.0))", "unexpected number of arguments"),
    ("\\set i greatest())", "at least one argument expected"),
    ("\\setshell var", "missing argument in command \"setshell\""),
    ("\\sleep too many args", "too many arguments in command \"sleep\"\n\\sleep too many args"),
    ("\\sleep", "missing argument in command \"sleep\""),
    ("\\sleep 1 week", "unrecognized time unit, must be us, ms or s (week)"),
    ("\\nosuchcommand", "invalid command in command \"nosuchcommand\""),
    ("", "empty command list for script"),
    ("\\gset", "gset must follow an SQL command"),
    ("\\set i +1\n\\gset", "script:2: \\gset must follow an SQL command"),
    ("SELECT 1 \\gset a b", "too many arguments"),
    ("SELECT 1 AS i \\gset\n\\gset", "gset must follow an SQL command"),
    // pgbench says these when it comes to them; here they are found before anything runs.
    ("\\set . 1", "invalid variable name: \".\""),
    ("\\set i :nosuchvariable", "undefined variable \"nosuchvariable\" in command \"set\""),
    ("\\sleep :nosuchvariable", "undefined variable \"nosuchvariable\""),
    ("\\set i least(0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16)", "too many function arguments (maximum is 16)"),
    // pgbench sends NULL, or the colon with the name.
    ("SELECT :nowhere;", "script:1: undefined variable \"nowhere\""),
    // pgbench runs them.
    ("\\shell echo hello", "commands of the system are not run"),
    ("\\setshell i echo 1", "commands of the system are not run"),
];

#[test]
fn wrong_scripts_are_refused_before_they_run() {
    for (text, wanted) in REFUSED {
        let said = Scripts::parse(&[source(text)], &[]).unwrap_err().to_string();
        assert!(said.starts_with("script:") && said.contains(wanted), "{text:?}: {said}");
    }
    let many = format!("\\set i 0\nSELECT LEAST({})", vec![":i"; 256].join(", "));
    let said = Scripts::parse(&[source(&many)], &[]).unwrap_err().to_string();
    assert!(said.contains("script:2: statement has too many arguments (maximum is 255)"), "{said}");
    let said = Scripts::parse(&vec![source("SELECT 1"); 129], &[]).unwrap_err().to_string();
    assert!(said.contains("at most 128 SQL scripts are allowed"), "{said}");
    let zero = Source { weight: 0, ..source("SELECT 1") };
    assert!(Scripts::parse(&[zero], &[]).unwrap_err().to_string().contains("weight must not be zero"));
    let deep = format!("\\set i {}1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(Scripts::parse(&[source(&deep)], &[]).unwrap_err().to_string().contains("nested too deeply"));
}

/// Scripts that fail when they run, and what is said.
const FAILING: &[(&str, &str)] = &[
    ("\\set i 1/0", "division by zero"),
    ("\\set i random(5,3)", "empty range given to random"),
    ("\\set i random(:minint, :maxint)", "random range is too large"),
    ("\\set i random_gaussian(0, 10, 1.0)", "gaussian parameter must be at least 2.000000 (not 1.000000)"),
    ("\\set i random_exponential(0, 10, 0.0)", "exponential parameter must be greater than zero (not 0.000000)"),
    ("\\set i random_zipfian(0, 10, 1)", "zipfian parameter must be in range [1.001, 1000] (not 1.000000)"),
    ("\\set i random_zipfian(0, 10, 1000000)", "zipfian parameter must be in range [1.001, 1000]"),
    ("\\set i :foo + 1", "malformed variable \"foo\" value: \"bla\""),
    ("\\set b NOT 0.0", "cannot coerce double to boolean"),
    ("\\set i TRUE + 2", "cannot coerce boolean to int"),
    ("\\set d ln(TRUE)", "cannot coerce boolean to double"),
    ("\\set b random(FALSE, TRUE)", "cannot coerce boolean to int"),
    ("\\set i int(1E32)", "double to int overflow for 100000000000000005366162204393472.000000"),
    ("\\set i (1<<62) + (1<<62)", "bigint add out of range"),
    ("\\set i 0 - (1<<62) - (1<<62) - (1<<62)", "bigint sub out of range"),
    ("\\set i 2 * (1<<62)", "bigint mul out of range"),
    ("\\set i :minint / -1", "bigint div out of range"),
    ("\\set b :badtrue or true", "malformed variable \"badtrue\" value: \"trueXXX\""),
    ("\\set i permute(0, 0)", "permute size parameter must be greater than zero"),
];

#[test]
fn what_fails_when_it_runs_says_what_pgbench_says() {
    let variables = [
        ("foo", "bla"),
        ("null", "null"),
        ("true", "true"),
        ("one", "1"),
        ("zero", "0.0"),
        ("badtrue", "trueXXX"),
        ("maxint", "9223372036854775807"),
        ("minint", "-9223372036854775808"),
    ];
    for (text, wanted) in FAILING {
        let (_, failed) = run(text, &variables, 1).unwrap();
        assert!(failed.as_deref().is_some_and(|said| said.contains(wanted)), "{text}: {failed:?}");
    }
}

/// Line, texts and destination of a statement.
type Told = (usize, Vec<String>, Option<(String, bool)>);

#[test]
fn statements_keep_their_variables_results_and_lines() {
    let text = "-- a comment\n\\set foo 1\nBEGIN;\nSELECT :foo::INT + :scale AS bla \\gset x_\n\
                SELECT 1\n AS a \\; SELECT 2 AS b \\; \\aset\nSELECT :x_bla, :a;\nEND;";
    let scripts = Scripts::parse(&[source(text)], &[]).unwrap();
    let found: Vec<Told> = scripts.scripts[0]
        .commands
        .iter()
        .filter_map(|command| match &command.action {
            Action::Sql(parts, store) => Some((
                command.line,
                parts.iter().map(|part| part.sql(|at| format!("${at}"))).collect(),
                store.as_ref().map(|store| (store.prefix.clone(), store.all)),
            )),
            _ => None,
        })
        .collect();
    let of = |line, sql: &[&str], store: Option<(&str, bool)>| {
        let sql = sql.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        (line, sql, store.map(|(prefix, all)| (prefix.to_string(), all)))
    };
    assert_eq!(
        found,
        [
            of(3, &["BEGIN"], None),
            of(4, &["SELECT $1::INT + $2 AS bla"], Some(("x_", false))),
            of(5, &["SELECT 1\n AS a", "SELECT 2 AS b"], Some(("", true))),
            of(7, &["SELECT $1, $2"], None),
            of(8, &["END"], None),
        ]
    );
}

#[test]
fn types_of_variables_are_known_before_they_are_set() {
    use dsbench_script::Kinds;
    let text = "\\set i random(1, 10)\n\\set d :i * 1.5\n\\set b :i > 3\n\\set n CASE WHEN :b THEN :i ELSE :d END\n\
                \\set m CASE WHEN :b AND NULL THEN 1 END\n\\set c :c + 1\n\\set o :b OR NULL\nSELECT 1 AS r \\gset r_\n\
                \\set g :r_x + 1\nSELECT :i, :d, :b, :n, :m, :c, :g, :text, :r_x, :o";
    let scripts = Scripts::parse(&[source(text)], &defined(&[("c", "0"), ("text", "it")])).unwrap();
    let (null, int, double) = (Kinds::NULL, Kinds::INT, Kinds::DOUBLE);
    for (name, wanted) in [
        ("i", int),
        ("d", double),
        ("b", Kinds::BOOL),
        ("n", int.or(double)),
        ("m", int.or(null)),
        ("c", int),
        ("g", int.or(double).or(null)),
        ("text", Kinds::TEXT),
        ("r_x", Kinds::TEXT),
        ("o", Kinds::BOOL.or(null)),
    ] {
        let slot = scripts.names().iter().position(|found| found == name).unwrap();
        assert_eq!(scripts.kinds()[slot], wanted, "{name}");
    }
    let known = scripts.names().iter().position(|found| found == "r_x").unwrap();
    let kinds = scripts.kinds_with(&[(known as u16, int.or(null))]);
    let of = |name: &str| kinds[scripts.names().iter().position(|found| found == name).unwrap()];
    assert_eq!((of("r_x"), of("g")), (int.or(null), int.or(null)), "what a result gives is known once it is described");
}

#[test]
fn scripts_are_picked_by_their_weights() {
    let sources =
        [(2, "a"), (0, "b"), (3, "c")].map(|(weight, name)| Source { name: name.into(), weight, ..source("SELECT 1") });
    let scripts = Scripts::parse(&sources, &[]).unwrap();
    let picked: Vec<usize> = (0..scripts.weight()).map(|drawn| scripts.pick(drawn)).collect();
    assert_eq!(picked, [0, 0, 2, 2, 2]);
}

#[test]
fn any_text_is_a_script_or_an_error() {
    let mut random = Random::new(3);
    let words = [
        "\\set x ",
        "\\if ",
        "\\endif",
        "\n",
        ":x",
        "1",
        "1.5e",
        "+",
        "(",
        ")",
        "CASE WHEN ",
        "THEN ",
        "END",
        "$$",
        "'",
        "SELECT ",
        ";",
        "\\;",
        "\\gset",
        "\\",
        "\r\n",
        "--",
        "/*",
        "*/",
        "ü",
        "NOT ",
        " IS ",
        "NULL ",
        "random(",
        ",",
        "E'",
        "\\sleep ",
        ":",
        "-",
        "9223372036854775808",
    ];
    for _ in 0..20_000 {
        let count = random.up_to(12);
        let text: String = (0..count).map(|_| words[random.up_to(words.len() as u64 - 1) as usize]).collect();
        if let Err(said) = run(&text, &[], 1) {
            assert!(said.starts_with("script:"), "{text:?}: {said}");
        }
    }
}
