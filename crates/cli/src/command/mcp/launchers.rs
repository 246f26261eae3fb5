//! Recognizes launchers in a command line (`npx`, `uvx`, `docker run`), and reads their registries
//! from the person's own configuration. The files are only read; their content never runs.

use std::fs;
use std::path::{Path, PathBuf};

use toolcrib_app::mcp::client::{Launcher, LauncherKind};
use toolcrib_app::mcp::launcher_args;

use super::docker_launcher;

const NPM: &str = "https://registry.npmjs.org/";
const PYPI: &str = "https://pypi.org/simple";

/// Returns the launcher of a command line.
pub(super) fn recognise(command: &str, args: &[String], settings: &Registries) -> Option<Launcher> {
    let name = Path::new(command).file_name()?.to_str()?;
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let named = |kind, options: &[&str]| {
        let own = launcher_args::split(kind, args);
        let package = launcher_args::option(&own.options, options).or(own.program)?;
        Some((kind, package.to_owned()))
    };
    let (kind, package) = match (name, words.as_slice()) {
        ("npx", _) | ("npm", ["exec" | "x", ..]) => named(LauncherKind::Npx, &["--package", "-p"])?,
        ("uvx", _) | ("uv", ["tool", "run", ..]) => named(LauncherKind::Uvx, &["--from"])?,
        ("docker" | "podman", ["run", rest @ ..] | ["container", "run", rest @ ..]) => {
            (LauncherKind::Docker, docker_launcher::image(rest)?.to_owned())
        }
        _ => return None,
    };
    let registry = match kind {
        LauncherKind::Npx => settings.npm(&package),
        LauncherKind::Uvx => settings.python(),
        LauncherKind::Docker => String::new(),
    };
    Some(Launcher { kind, package, registry })
}

/// The location of the person's configuration of package managers.
#[derive(Debug, Clone, Default)]
pub(super) struct Registries {
    /// Values of environment variables, by name.
    pub(super) env: Vec<(String, String)>,
    /// Files of npm, the nearest first.
    pub(super) npm_files: Vec<PathBuf>,
    /// Files of uv, the nearest first.
    pub(super) uv_files: Vec<PathBuf>,
    /// Files of pip, the nearest first.
    pub(super) pip_files: Vec<PathBuf>,
}

impl Registries {
    pub(super) fn from_env() -> Self {
        let home = std::env::home_dir().unwrap_or_default();
        let config =
            std::env::var_os("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
        let system = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let with = |own: Vec<PathBuf>, others: &[&str]| [own, system(others)].concat();
        Self {
            env: std::env::vars_os()
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .collect(),
            npm_files: with(
                vec![home.join(".npmrc")],
                &["/usr/etc/npmrc", "/usr/local/etc/npmrc", "/etc/npmrc"],
            ),
            uv_files: with(vec![config.join("uv/uv.toml")], &["/etc/uv/uv.toml"]),
            pip_files: with(
                vec![config.join("pip/pip.conf"), home.join(".pip/pip.conf")],
                &["/etc/pip.conf"],
            ),
        }
    }

    pub(super) fn variable(&self, names: &[&str]) -> Option<String> {
        let own = |name: &&str| self.env.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        let found = names.iter().find_map(own).map(|(_, value)| value.clone());
        found.filter(|value| !value.trim().is_empty())
    }

    /// Returns the registry of an npm package; a scope may have its own.
    fn npm(&self, package: &str) -> String {
        let scope = package.starts_with('@').then(|| package.split('/').next()).flatten();
        let of_scope = scope.and_then(|scope| self.npmrc(&format!("{scope}:registry")));
        let found = of_scope
            .or_else(|| self.variable(&["npm_config_registry"]))
            .or_else(|| self.npmrc("registry"));
        without_login(found.as_deref().unwrap_or(NPM))
    }

    fn npmrc(&self, key: &str) -> Option<String> {
        self.npm_files.iter().find_map(|path| ini_value(&fs::read_to_string(path).ok()?, key))
    }

    /// Returns the index of Python packages: the one of uv, or else of pip.
    fn python(&self) -> String {
        let of_uv =
            || self.uv_files.iter().find_map(|path| uv_index(&fs::read_to_string(path).ok()?));
        let of_pip = || {
            self.pip_files
                .iter()
                .find_map(|path| ini_value(&fs::read_to_string(path).ok()?, "index-url"))
        };
        let found = self
            .variable(&["UV_DEFAULT_INDEX", "UV_INDEX_URL"])
            .or_else(of_uv)
            .or_else(|| self.variable(&["PIP_INDEX_URL"]))
            .or_else(of_pip);
        without_login(found.as_deref().unwrap_or(PYPI))
    }

    /// Returns variables that name certificates, for networks in which a company inspects TLS
    /// connections.
    pub(super) fn certificates(&self, kind: LauncherKind) -> Vec<(String, String)> {
        let names: &[&str] = match kind {
            LauncherKind::Npx => &["NODE_EXTRA_CA_CERTS"],
            LauncherKind::Uvx => &["SSL_CERT_FILE", "SSL_CERT_DIR"],
            LauncherKind::Docker => &[],
        };
        let own = |name: &&str| {
            let value = self.variable(&[name])?;
            Path::new(&value).starts_with("/etc").then(|| ((*name).to_owned(), value))
        };
        names.iter().filter_map(own).collect()
    }
}

/// Parses `key = value` of an INI file, without quotes.
fn ini_value(text: &str, key: &str) -> Option<String> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    let mut own = pairs.filter(|(name, _)| name.trim() == key);
    own.next().map(|(_, value)| value.trim().trim_matches('"').to_owned())
}

/// Returns the default index of a `uv.toml`.
fn uv_index(text: &str) -> Option<String> {
    let table: toml::Table = toml::from_str(text).ok()?;
    let indexes = table.get("index").and_then(toml::Value::as_array).into_iter().flatten();
    let mut defaults =
        indexes.filter(|own| own.get("default").and_then(toml::Value::as_bool) == Some(true));
    let url = defaults.next().and_then(|own| own.get("url")).or_else(|| table.get("index-url"));
    url.and_then(toml::Value::as_str).map(str::to_owned)
}

/// Returns the address without user name and password, which must not get into Toolcrib's
/// configuration.
fn without_login(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.split_once('/').map_or((rest, ""), |(host, path)| (host, path));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}/{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> (String, Vec<String>) {
        let mut words = line.split_whitespace().map(str::to_owned);
        (words.next().unwrap(), words.collect())
    }

    #[test]
    fn launchers_are_recognised_with_their_package() {
        let check = |line: &str, expected: Option<(LauncherKind, &str)>| {
            let (command, args) = words(line);
            let found = recognise(&command, &args, &Registries::default());
            let found = found.as_ref().map(|own| (own.kind, own.package.as_str()));
            assert_eq!(found, expected, "{line}");
        };
        let npx = |package| Some((LauncherKind::Npx, package));
        let uvx = |package| Some((LauncherKind::Uvx, package));
        check("npx -y @scope/server@1.2 /data", npx("@scope/server@1.2"));
        check("/opt/a/.nvm/versions/node/v22/bin/npx --yes server", npx("server"));
        check("npm exec --yes -- server --flag", npx("server"));
        check("npx --package=server -- run", npx("server"));
        check("npx -p server run", npx("server"));
        check("uvx mcp-server-time --local-timezone UTC", uvx("mcp-server-time"));
        check("uvx --from mcp-server==1 serve", uvx("mcp-server==1"));
        check("uvx --python 3.12 server", uvx("server"));
        check("uv tool run server", uvx("server"));
        check(
            "docker run -i --rm -e TOKEN ghcr.io/a/b:1 stdio",
            Some((LauncherKind::Docker, "ghcr.io/a/b:1")),
        );
        check("docker run -i --rm --env=A=b image", Some((LauncherKind::Docker, "image")));
        check("node server.js", None);
        check("npx --version", None);
    }

    #[test]
    fn the_registry_is_the_one_of_the_person() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let npmrc = file(
            "npmrc",
            "//npm.example/:_authToken=x\nregistry = https://me:pw@npm.example/all/\n@acme:registry=https://acme.example/\n",
        );
        let uv =
            file("uv.toml", "[[index]]\nurl = \"https://py.example/simple\"\ndefault = true\n");
        let pip = file("pip.conf", "[global]\nindex-url = https://pip.example/simple\n");
        let all = Registries {
            npm_files: vec![npmrc],
            uv_files: vec![uv],
            pip_files: vec![pip.clone()],
            ..Registries::default()
        };
        assert_eq!(all.npm("x"), "https://npm.example/all/");
        assert_eq!(all.npm("@acme/x"), "https://acme.example/");
        assert_eq!(all.python(), "https://py.example/simple");
        let pip_only = Registries { pip_files: vec![pip], ..Registries::default() };
        assert_eq!(
            (pip_only.python().as_str(), pip_only.npm("x").as_str()),
            ("https://pip.example/simple", NPM)
        );
        let env = Registries {
            env: vec![("npm_config_registry".to_owned(), "https://env.example/".to_owned())],
            ..all
        };
        assert_eq!(env.npm("x"), "https://env.example/");
    }
}
