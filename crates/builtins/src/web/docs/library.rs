//! The languages and frameworks whose documentation is searched, with their official sites.

use toolcrib_core::similar_names;

/// A language or framework.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Library {
    /// Name that a caller uses.
    pub(crate) name: &'static str,
    aliases: &'static [&'static str],
    /// Official sites: a host, and a path if the site also has other content.
    pub(crate) sites: &'static [&'static str],
    /// Name at DevDocs without the version; `None` if DevDocs does not have it.
    pub(crate) dev_docs: Option<&'static str>,
}

const fn library(
    name: &'static str,
    aliases: &'static [&'static str],
    sites: &'static [&'static str],
    dev_docs: Option<&'static str>,
) -> Library {
    Library { name, aliases, sites, dev_docs }
}

/// Fourteen languages, with JavaScript, TypeScript, C and C++ counted separately, and eleven
/// frameworks.
pub(crate) const LIBRARIES: [Library; 25] = [
    library("php", &[], &["php.net"], Some("php")),
    library("python", &["py", "python3"], &["docs.python.org"], Some("python")),
    library("javascript", &["js", "ecmascript"], &["developer.mozilla.org"], Some("javascript")),
    library("typescript", &["ts"], &["typescriptlang.org"], Some("typescript")),
    library("go", &["golang"], &["pkg.go.dev", "go.dev"], Some("go")),
    library("rust", &["rs"], &["doc.rust-lang.org", "docs.rs"], Some("rust")),
    library("java", &["jdk", "openjdk"], &["docs.oracle.com"], Some("openjdk")),
    library("ruby", &["rb"], &["docs.ruby-lang.org", "ruby-doc.org"], Some("ruby")),
    library("csharp", &["c#", "cs", "dotnet", ".net"], &["learn.microsoft.com/en-us/dotnet"], None),
    library("dart", &[], &["dart.dev", "api.dart.dev"], Some("dart")),
    library("c", &[], &["en.cppreference.com/w/c"], Some("c")),
    library("cpp", &["c++", "cplusplus", "cxx"], &["en.cppreference.com/w/cpp"], Some("cpp")),
    library("bash", &["sh", "shell"], &["gnu.org/software/bash"], Some("bash")),
    library(
        "sql",
        &["postgresql", "postgres", "sqlite", "mysql"],
        &["postgresql.org/docs", "sqlite.org", "dev.mysql.com/doc"],
        Some("postgresql"),
    ),
    library("django", &[], &["docs.djangoproject.com"], Some("django")),
    library("flask", &[], &["flask.palletsprojects.com"], Some("flask")),
    library("numpy", &[], &["numpy.org/doc"], Some("numpy")),
    library("pandas", &[], &["pandas.pydata.org"], Some("pandas")),
    library("laravel", &[], &["laravel.com/docs"], Some("laravel")),
    library("node", &["nodejs", "node.js"], &["nodejs.org/api", "nodejs.org/docs"], Some("node")),
    library("react", &["reactjs", "react.js"], &["react.dev"], Some("react")),
    library("vue", &["vuejs", "vue.js"], &["vuejs.org"], Some("vue")),
    library("spring", &["spring boot", "springboot"], &["docs.spring.io"], Some("spring_boot")),
    library(
        "rails",
        &["ruby on rails"],
        &["guides.rubyonrails.org", "api.rubyonrails.org"],
        Some("rails"),
    ),
    library("flutter", &[], &["docs.flutter.dev", "api.flutter.dev"], None),
];

/// Finds the library with this name.
///
/// # Errors
/// The known names, similar ones first.
pub(crate) fn find(name: &str) -> Result<&'static Library, String> {
    let asked = name.trim().to_lowercase();
    let found = LIBRARIES
        .iter()
        .find(|library| library.name == asked || library.aliases.contains(&asked.as_str()));
    found.ok_or_else(|| {
        let names: Vec<&str> = LIBRARIES.iter().map(|library| library.name).collect();
        let near = similar_names::similar_names(&asked, names.iter().copied());
        let hint = match near.as_slice() {
            [] => String::new(),
            near => format!(" Did you mean {}?", near.join(", ")),
        };
        format!(
            "The documentation of `{}` is not known.{hint} Known are {}.",
            asked.chars().take(50).collect::<String>(),
            names.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_aliases_are_unique_and_found() {
        for library in &LIBRARIES {
            assert_eq!(find(library.name), Ok(library));
            for alias in library.aliases {
                assert_eq!(find(alias), Ok(library), "{alias}");
            }
        }
        assert_eq!(find(" C++ ").map(|library| library.name), Ok("cpp"));
        assert!(find("pythons").unwrap_err().contains("Did you mean python?"));
    }
}
