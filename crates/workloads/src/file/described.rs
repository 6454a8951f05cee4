//! What a workload file says, checked as far as that needs no database.

use dsbench_core::error::{Error, Result};
use dsbench_core::stage::{GroupPlan, Pacing, Whose};
use dsbench_core::workload::KindId;
use dsbench_script::{meant, Source};

use super::columns::{self, Made};
use super::expression::{Expression, Scope, Step};
use super::reading::{parse, Fields, Files, Node, Sql, LONGEST};
use super::table::{Generator, Table};
use super::words;
use crate::catalogue::Promised;
use crate::Settings;

/// A file without SQL for it stands in where none is named, so that the workload can be looked at.
const SAMPLE: &str = include_str!("sample.toml");

/// Most transactions of a file.
const MOST_KINDS: usize = 64;

/// The stage of groups that name none.
const LOAD: &str = "load";

/// Stages that every run has beside those of a file.
const OTHER_STAGES: &[&str] = &["build", "check", "drop"];

/// Most entries of a table of the file, such as words or conditions.
const MOST_ENTRIES: usize = 256;

const ROOT: &[&str] = &[
    "name",
    "about",
    "unit",
    "seed",
    "base",
    "define",
    "words",
    "texts",
    "schema",
    "tables",
    "groups",
    "transactions",
    "conditions",
    "headline",
];

/// A workload file for one product at one scale.
pub(super) struct Described {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) unit: String,
    pub(super) scope: Scope,
    pub(super) schema: Schema,
    pub(super) tables: Vec<Table>,
    /// Variables that hold other letters in each transaction, with their least and most lengths.
    pub(super) texts: Vec<(String, (usize, usize))>,
    pub(super) transactions: Vec<Transaction>,
    pub(super) groups: Vec<Group>,
    pub(super) conditions: Vec<Wanted>,
    pub(super) headline: Option<Headline>,
}

/// The statements around tables.
#[derive(Debug, Default)]
pub(super) struct Schema {
    pub(super) tables: Vec<Step>,
    pub(super) keys: Vec<Step>,
    pub(super) foreign_keys: Vec<Step>,
    /// `None`: what the product needs.
    pub(super) clean: Option<Vec<Step>>,
    pub(super) made: Vec<Made>,
}

impl Schema {
    /// The indexes and keys that its statements make.
    pub(super) fn promised(&self) -> Promised {
        let steps = self.tables.iter().chain(&self.keys).chain(&self.foreign_keys);
        Promised::of(steps.map(|step| &step.sql))
    }
}

/// One name, or several.
fn names(node: Node<'_>) -> Result<Vec<String>> {
    match node.items() {
        Some(items) => items.into_iter().map(|node| Ok(node.text()?.to_string())).collect(),
        None => Ok(vec![node.text()?.to_string()]),
    }
}

/// Clients that do the same, and when: groups of one stage work at the same time, stages one after another.
pub(super) struct Group {
    pub(super) stage: String,
    pub(super) plan: GroupPlan,
}

/// One kind of transactions.
pub(super) struct Transaction {
    pub(super) name: String,
    pub(super) source: Source,
    /// Number of its group.
    pub(super) group: usize,
    /// The variables that clients add up over committed ones.
    pub(super) adds: Vec<String>,
    pub(super) place: String,
}

/// A condition.
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) what: What,
}

/// What a condition asks for.
pub(super) enum What {
    /// A query must give no row.
    Nothing(Step),
    /// A query must give this value alone.
    Equals(Step, Expression),
    /// Rows are as they were loaded.
    Loaded(Loaded),
}

/// A table whose rows are to be as they were loaded.
pub(super) struct Loaded {
    /// Its number among the tables.
    pub(super) table: usize,
    /// Numbers of the columns that name a row.
    pub(super) keys: Vec<usize>,
    /// Columns that transactions change.
    pub(super) except: Vec<usize>,
    /// Columns into which transactions write variables of `[texts]`.
    pub(super) texts: Vec<usize>,
    /// How many of these texts were written.
    pub(super) written: Option<Expression>,
    /// Whether transactions add rows.
    pub(super) added: bool,
}

/// The figure by which runs are told apart.
pub(super) struct Headline {
    pub(super) label: String,
    pub(super) kind: Option<String>,
    pub(super) per_s: u32,
}

/// A file over that which it names as its base: of each key its own counts.
struct Whole<'a>(Fields<'a>, Option<Fields<'a>>);

impl<'a> Whole<'a> {
    fn get(&self, name: &str) -> Option<Node<'a>> {
        self.0.get(name).or_else(|| self.1.as_ref()?.get(name))
    }

    /// The entries of a table, of which there may be so many as a file needs.
    fn entries(&self, name: &str) -> Result<Vec<(&'a str, Node<'a>)>> {
        let Some(node) = self.get(name) else { return Ok(Vec::new()) };
        let entries = node.entries()?;
        if entries.len() > MOST_ENTRIES {
            return Err(
                node.wrong(format!("[{name}] has {} entries; at most {MOST_ENTRIES} are allowed", entries.len()))
            );
        }
        entries.iter().try_for_each(|(name, node)| node.shown(name))?;
        Ok(entries)
    }

    fn line(&self, name: &str) -> Result<String> {
        Ok(self.get(name).map(|node| node.line()).transpose()?.unwrap_or_default().to_string())
    }
}

impl Described {
    /// Reads the settings of the workload. Errors of kind `Configuration` with file, line and column.
    pub(super) fn read(settings: &Settings, product: Option<&str>, scale: u32) -> Result<Self> {
        let sample = || format!("{} sample.toml\n{SAMPLE}", SAMPLE.len());
        let files = Files::of(&settings.get("file").map_or_else(sample, str::to_string))?;
        let own = parse(files.first())?;
        let fields = Node::root(files.first(), &own).fields(ROOT)?;
        let base = fields.get("base").map(|node| files.named(node)).transpose()?;
        let of_base = base.map(parse).transpose()?;
        let beneath = match (base, &of_base) {
            (Some(file), Some(value)) => Some(Node::root(file, value).fields(ROOT)?),
            _ => None,
        };
        Reader { files: &files, product, whole: Whole(fields, beneath), settings, words: Vec::new() }.read(scale)
    }
}

struct Reader<'a> {
    files: &'a Files,
    product: Option<&'a str>,
    whole: Whole<'a>,
    settings: &'a Settings,
    words: Vec<(String, String)>,
}

impl Reader<'_> {
    fn read(mut self, scale: u32) -> Result<Described> {
        let stem = self.files.first().0.trim_end_matches(".toml").to_string();
        let name = Some(self.whole.line("name")?).filter(|name| !name.is_empty()).unwrap_or(stem);
        let scope = Scope { scale, defined: self.defined()? };
        let of_product = |word: &str| (word.to_string(), words::on_product(word, self.product).to_string());
        self.words = words::BUILTIN.iter().map(|word| of_product(word)).collect();
        for (name, node) in self.whole.entries("words")? {
            let word = self.sql(node)?.text.trim().to_string();
            self.words.insert(0, (name.to_string(), word));
        }
        let schema = self.schema(&scope)?;
        let seed = self.whole.get("seed").map(|node| scope.whole(node)).transpose()?.unwrap_or(1);
        self.whole.entries("tables")?;
        let tables = self.whole.get("tables");
        let tables = tables.map(|node| Table::all(node, self.files, &scope, &schema.made, seed)).transpose()?;
        let mut groups = self.groups()?;
        let transactions = self.transactions(&mut groups)?;
        let kinds: Vec<&str> = transactions.iter().map(|one| one.name.as_str()).collect();
        let tables = tables.unwrap_or_default();
        let conditions = self.conditions(&scope, &transactions, &tables, &schema.promised())?;
        Ok(Described {
            name,
            about: self.whole.line("about")?,
            unit: self.whole.line("unit")?,
            schema,
            tables,
            texts: self.texts()?,
            conditions,
            headline: self.headline(&kinds)?,
            transactions,
            groups,
            scope,
        })
    }

    /// What `[define]` and `--define` say; the latter counts.
    fn defined(&self) -> Result<Vec<(String, String)>> {
        let mut all = crate::script::settings::defined(self.settings)?;
        for (name, node) in self.whole.entries("define")? {
            if !all.iter().any(|(known, _)| known == name) {
                all.push((name.to_string(), node.constant()?));
            }
        }
        Ok(all)
    }

    fn sql(&self, node: Node<'_>) -> Result<Sql> {
        let long = || node.wrong(format!("this SQL is longer than {LONGEST} bytes once [words] stand in it"));
        node.sql(self.files, self.product)?.filled(&self.words).ok_or_else(long)
    }

    fn schema(&self, scope: &Scope) -> Result<Schema> {
        let Some(node) = self.whole.get("schema") else { return Ok(Schema::default()) };
        let fields = node.fields(&["tables", "keys", "foreign_keys", "clean"])?;
        let steps = |name: &str| fields.get(name).map(|node| scope.steps(&self.sql(node)?)).transpose();
        let tables = steps("tables")?.unwrap_or_default();
        let made = tables.iter().filter_map(|step| columns::made(&step.sql, self.product)).collect();
        let (keys, foreign_keys) = (steps("keys")?.unwrap_or_default(), steps("foreign_keys")?.unwrap_or_default());
        Ok(Schema { tables, keys, foreign_keys, clean: steps("clean")?, made })
    }

    fn texts(&self) -> Result<Vec<(String, (usize, usize))>> {
        let texts = self.whole.entries("texts")?;
        texts.into_iter().map(|(name, node)| Ok((name.to_string(), super::table::lengths(node)?))).collect()
    }

    fn groups(&self) -> Result<Vec<Group>> {
        let mut groups = Vec::new();
        for (role, (name, node)) in self.whole.entries("groups")?.into_iter().enumerate() {
            let fields = node.fields(&["clients", "rate", "arrival", "stage", "role"])?;
            let clients = fields.get("clients").map(|node| node.within(1.0..=100_000.0)).transpose()?;
            let rate = fields.get("rate").map(|node| node.within(0.001..=10_000_000.0)).transpose()?;
            let arrival = fields.get("arrival").map(|node| node.text()).transpose()?.unwrap_or("poisson");
            let pacing = match (rate, arrival) {
                (rate, "poisson") => rate.map(|rate| Pacing::Poisson(rate, Whose::All)),
                (Some(rate), "constant") => Some(Pacing::Constant(rate, Whose::All)),
                _ => return Err(node.wrong("arrival is poisson or constant, and needs a rate")),
            };
            let stage = match fields.get("stage") {
                Some(node) if OTHER_STAGES.contains(&node.line()?) => {
                    return Err(
                        node.wrong(format!("{} are stages of every run: choose another name", OTHER_STAGES.join(", ")))
                    )
                }
                Some(node) => match node.text()? {
                    "" => return Err(node.wrong("a stage needs a name")),
                    name if name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-. ".contains(letter)) => {
                        name
                    }
                    _ => return Err(node.wrong("the name of a stage consists of letters, digits, spaces, _, - and .")),
                },
                None => LOAD,
            };
            let reads = match fields.get("role").map(|node| node.text()).transpose()?.unwrap_or("write") {
                "read" => true,
                "write" => false,
                _ => return Err(node.wrong("role is read or write")),
            };
            let (role, clients) = (role as u8, clients.map(|clients| clients as u64));
            let plan = GroupPlan { name: name.into(), role, clients, pacing, reads, ..GroupPlan::all() };
            groups.push(Group { stage: stage.into(), plan });
        }
        match groups.is_empty() {
            true => Ok(vec![Group { stage: LOAD.into(), plan: GroupPlan::all() }]),
            false => Ok(groups),
        }
    }

    fn transactions(&self, groups: &mut [Group]) -> Result<Vec<Transaction>> {
        let mut all: Vec<Transaction> = Vec::new();
        for (name, node) in self.whole.entries("transactions")? {
            let fields = node.fields(&["sql", "weight", "group", "adds"])?;
            let weight = fields.get("weight").map(|node| node.within(0.0..=1e9)).transpose()?.unwrap_or(1.0);
            let of_name = |wanted: &str| groups.iter().position(|group| group.plan.name == wanted);
            let group = match fields.get("group") {
                None => of_name(name).unwrap_or(0),
                Some(node) => {
                    let wanted = node.text()?;
                    let found = of_name(wanted);
                    let meant = || meant(wanted, groups.iter().map(|group| group.plan.name.as_str()));
                    found.ok_or_else(|| node.wrong(format!("no group {wanted} stands in [groups]{}", meant())))?
                }
            };
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return Err(node.wrong("the name of a transaction consists of letters, digits and _"));
            }
            if weight.fract() != 0.0 {
                return Err(node.wrong("a weight is a whole number"));
            }
            groups[group].plan.kinds.push(all.len() as KindId);
            let sql = self.sql(fields.need("sql")?)?;
            all.push(Transaction {
                name: name.into(),
                source: Source { name: sql.file, weight: weight as u64, text: sql.text },
                group,
                adds: fields.get("adds").map(names).transpose()?.unwrap_or_default(),
                place: node.place(),
            });
        }
        let file = &self.files.first().0;
        let wrong = |why: &str| Err(Error::configuration(format!("{file}:1: {why}")));
        let idle = |group: &Group| group.plan.kinds.iter().all(|kind| all[usize::from(*kind)].source.weight == 0);
        match () {
            () if all.is_empty() => wrong("[transactions.NAME] is missing: a workload needs one at least"),
            () if all.len() > MOST_KINDS => wrong(&format!("at most {MOST_KINDS} transactions are allowed")),
            () => match groups.iter().find(|group| idle(group)) {
                Some(group) => wrong(&format!("no transaction with a weight is of group {}", group.plan.name)),
                None => Ok(all),
            },
        }
    }

    fn conditions(
        &self,
        scope: &Scope,
        transactions: &[Transaction],
        tables: &[Table],
        promised: &Promised,
    ) -> Result<Vec<Wanted>> {
        let sums = transactions.iter().flat_map(|one| one.adds.iter().map(|name| format!("sum_{name}")));
        let counts = transactions.iter().map(|one| format!("committed_{}", one.name));
        let known: Vec<String> = counts.chain(sums).chain(["committed".to_string()]).collect();
        let number = |node| Expression::read(node, scope, &known);
        let mut all = Vec::new();
        for (name, node) in self.whole.entries("conditions")? {
            const OF_QUERY: &[&str] = &["sql", "equals"];
            const OF_LOADED: &[&str] = &["loaded", "except", "texts", "written", "added"];
            let fields = node.fields(&[OF_QUERY, OF_LOADED].concat())?;
            let what = match fields.only(&["sql", "loaded"])? {
                ("sql", sql) => {
                    node.fields(OF_QUERY)?;
                    let steps = scope.steps(&self.sql(sql)?)?;
                    let [step] = steps.as_slice() else { return Err(sql.wrong("one query has to stand here")) };
                    match fields.get("equals").map(number).transpose()? {
                        Some(equals) => What::Equals(step.clone(), equals),
                        None => What::Nothing(step.clone()),
                    }
                }
                (_, of) => {
                    node.fields(OF_LOADED)?;
                    let table = tables.iter().position(|table| Some(table.name.as_str()) == of.as_text());
                    let table = table.ok_or_else(|| of.wrong("no table of this name is populated"))?;
                    let columns = |name: &str| match fields.get(name) {
                        Some(node) => names(node)?.iter().map(|name| tables[table].number_of(node, name)).collect(),
                        None => Ok(Vec::new()),
                    };
                    let keys = tables[table].keys(promised);
                    let keyless = || of.wrong("its rows have no key of whole numbers by which they could be read");
                    let texts: Vec<usize> = columns("texts")?;
                    if texts.iter().any(|at| !matches!(tables[table].columns[*at].generator, Generator::Text(..))) {
                        return Err(of.wrong("texts names columns whose generator is text: of others none is known"));
                    }
                    What::Loaded(Loaded {
                        table,
                        keys: if self.product.is_some() { keys.ok_or_else(keyless)? } else { Vec::new() },
                        except: columns("except")?,
                        texts,
                        written: fields.get("written").map(number).transpose()?,
                        added: fields.get("added").map(|node| node.yes()).transpose()?.unwrap_or(false),
                    })
                }
            };
            all.push(Wanted { name: name.into(), what });
        }
        Ok(all)
    }

    fn headline(&self, kinds: &[&str]) -> Result<Option<Headline>> {
        let Some(node) = self.whole.get("headline") else { return Ok(None) };
        let fields = node.fields(&["label", "transaction", "per"])?;
        let kind = match fields.get("transaction") {
            None => None,
            Some(node) if kinds.contains(&node.text()?) => Some(node.text()?.to_string()),
            Some(node) => {
                let meant = meant(node.text()?, kinds.iter().copied());
                return Err(node.wrong(format!("no such transaction; there are {}{meant}", kinds.join(", "))));
            }
        };
        let per_s = match fields.get("per").map(|node| node.text()).transpose()? {
            None | Some("second") => 1,
            Some("minute") => 60,
            Some("hour") => 3600,
            Some(_) => return Err(node.wrong("per is second, minute or hour")),
        };
        Ok(Some(Headline { label: fields.need("label")?.line()?.to_string(), kind, per_s }))
    }
}
