//! Service files, as libpq reads them: groups of settings under a name, `[name]` and lines of `setting=value`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dsbench_core::error::{Error, Result};

use super::url::{KNOWN, PASSED_OVER, REFUSED};
use crate::url::Environment;

/// Where the file of the system lies.
const FOLDERS: &[&str] = &["/etc/postgresql-common", "/etc", "/usr/local/pgsql/etc"];
const FILE: &str = "pg_service.conf";

/// Adds the settings of the service that `settings` or the environment name, where `settings` has none of its own. Error
/// `Configuration` when there is no such service, or when its file cannot be understood.
pub fn add(settings: &mut BTreeMap<&'static str, String>, environment: Environment<'_>) -> Result<()> {
    let variable = |name: &str| environment(name).filter(|value| !value.is_empty());
    let Some(service) = settings.remove("service").or_else(|| variable("PGSERVICE")) else { return Ok(()) };
    let named = settings.remove("servicefile").or_else(|| variable("PGSERVICEFILE")).map(PathBuf::from);
    let own = named.clone().or_else(|| Some(PathBuf::from(variable("HOME")?).join(".pg_service.conf")));
    let of_system = variable("PGSYSCONFDIR")
        .map_or(FOLDERS.to_vec().into_iter().map(PathBuf::from).collect(), |folder| vec![PathBuf::from(folder)]);
    let files: Vec<PathBuf> =
        own.into_iter().chain(of_system.into_iter().map(|folder| folder.join(FILE))).collect::<Vec<_>>();
    for file in &files {
        let text = match std::fs::read_to_string(file) {
            Err(error) if named.as_ref() == Some(file) => {
                return Err(Error::configuration(format!("service file {}: {error}", file.display())))
            }
            Err(_) => continue,
            Ok(text) => text,
        };
        if let Some(found) = group(&text, &service).map_err(|(line, what)| {
            Error::configuration(format!("service file {}, line {line}: {what}", file.display()))
        })? {
            for (name, value) in found {
                settings.entry(name).or_insert(value);
            }
            return Ok(());
        }
    }
    let looked = files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ");
    Err(Error::configuration(format!("service {service:?} is defined in none of {looked}"))
        .remedy("name its file by PGSERVICEFILE, or write the host, port and database into the target"))
}

type Group = Vec<(&'static str, String)>;

/// The settings of the group `service` of a file; nothing where it has no such group. An error has its line.
fn group(text: &str, service: &str) -> std::result::Result<Option<Group>, (usize, String)> {
    let mut found: Option<Group> = None;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with('[') {
            if found.is_some() {
                return Ok(found);
            }
            if line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) == Some(service) {
                found = Some(Vec::new());
            }
            continue;
        }
        let Some(group) = &mut found else { continue };
        let (name, value) = line.split_once('=').ok_or((at + 1, "it is no setting=value".to_owned()))?;
        let mut readable = KNOWN.iter().chain(REFUSED.iter().map(|(known, ..)| known));
        let known = readable.find(|known| **known == name && name != "service" && name != "servicefile");
        // The first of several counts.
        match known {
            Some(known) if group.iter().all(|(name, _)| name != known) => group.push((known, value.to_owned())),
            Some(_) => {}
            None if PASSED_OVER.contains(&name) => {}
            None => return Err((at + 1, format!("dsbench does not know the setting {name:?}"))),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# one\n[one]\nhost=a\nport=1\n\n[two]\n host=b\nport=2\nport=3\n[odd]\nhost\n[new]\nfoo=1\n";

    #[test]
    fn a_group_ends_where_the_next_begins() {
        let pairs = |found: &[(&'static str, &str)]| Some(found.iter().map(|(n, v)| (*n, (*v).to_owned())).collect());
        assert_eq!(group(TEXT, "one").unwrap(), pairs(&[("host", "a"), ("port", "1")]));
        assert_eq!(group(TEXT, "two").unwrap(), pairs(&[("host", "b"), ("port", "2")]));
        assert_eq!(group(TEXT, "three").unwrap(), None);
        assert_eq!(group(TEXT, "odd").unwrap_err().0, 11);
        assert!(group(TEXT, "new").unwrap_err().1.contains("\"foo\""));
    }

    #[test]
    fn the_url_goes_before_the_service_and_a_missing_one_is_an_error() {
        let folder = std::env::temp_dir().join(format!("dsbench-service-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("services.conf");
        std::fs::write(&file, TEXT).unwrap();
        let path = file.to_str().unwrap().to_owned();
        let environment = move |name: &str| match name {
            "PGSERVICE" => Some("two".to_owned()),
            "PGSERVICEFILE" => Some(path.clone()),
            _ => None,
        };
        let mut settings = BTreeMap::from([("port", "9".to_owned())]);
        add(&mut settings, &environment).unwrap();
        assert_eq!(settings, BTreeMap::from([("host", "b".to_owned()), ("port", "9".to_owned())]));
        let mut settings = BTreeMap::from([("service", "three".to_owned())]);
        let error = add(&mut settings, &environment).unwrap_err();
        assert!(error.to_string().contains("\"three\" is defined in none of"), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
