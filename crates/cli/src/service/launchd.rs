//! launchd, for one user.

use std::path::{Path, PathBuf};

use super::Service;
use super::service_command::{run_checked, run_visible};
use crate::bootstrap;
use crate::config::Env;
use crate::output::Failure;

const PROGRAM: &str = "launchctl";
const LABEL: &str = "org.toolcrib.daemon";

/// Returns the path of the agent, where launchd finds agents of a user (`launchd.plist(5)`).
pub(super) fn path() -> Result<PathBuf, Failure> {
    let home = Env::from_process().path("HOME");
    let home = home.ok_or_else(|| Failure::configuration("there is no home folder"))?;
    Ok(home.join("Library/LaunchAgents").join(format!("{LABEL}.plist")))
}

fn log() -> Result<PathBuf, Failure> {
    Ok(bootstrap::state_folder()?.join("daemon/launchd.log"))
}

pub(super) fn plist(service: &Service) -> Result<String, Failure> {
    let program = escaped(&service.program)?;
    let workspace = escaped(&service.workspace)?;
    let log = escaped(&log()?)?;
    let home = match &service.home {
        Some(home) => format!(
            "  <key>EnvironmentVariables</key>\n  <dict>\n    <key>TOOLCRIB_HOME</key>\n    <string>{}</string>\n  </dict>\n",
            escaped(home)?
        ),
        None => String::new(),
    };
    Ok(format!(
        "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">
<plist version=\"1.0\">
<dict>
  <key>Label</key>
  <string>{LABEL}</string>
  <key>ProgramArguments</key>
  <array>
    <string>{program}</string>
    <string>serve</string>
    <string>--workspace</string>
    <string>{workspace}</string>
  </array>
  <key>WorkingDirectory</key>
  <string>{workspace}</string>
{home}  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ExitTimeOut</key>
  <integer>60</integer>
  <key>Umask</key>
  <integer>63</integer>
  <key>StandardErrorPath</key>
  <string>{log}</string>
</dict>
</plist>
"
    ))
}

fn escaped(path: &Path) -> Result<String, Failure> {
    let text = path
        .to_str()
        .filter(|text| !text.chars().any(char::is_control))
        .ok_or_else(|| Failure::usage(format!("{} is not plain text", path.display())))?;
    Ok(text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}

/// Returns the domain of this user's agents.
fn launchd_domain() -> String {
    format!("gui/{}", rustix::process::getuid().as_raw())
}

pub(super) fn load() -> Result<(), Failure> {
    let path = path()?;
    let path = path.to_string_lossy();
    run_checked(PROGRAM, &["bootstrap", &launchd_domain(), &path])
}

pub(super) fn unload() -> Result<(), Failure> {
    run_checked(PROGRAM, &["bootout", &format!("{}/{LABEL}", launchd_domain())])
}

pub(super) fn status() -> Result<u8, Failure> {
    run_visible(PROGRAM, &["print", &format!("{}/{LABEL}", launchd_domain())])
}

pub(super) fn logs(lines: u32, follow: bool) -> Result<u8, Failure> {
    let (lines, log) = (lines.to_string(), log()?);
    let log = log.to_string_lossy();
    let mut args = vec!["-n", &lines];
    if follow {
        args.push("-f");
    }
    args.push(&log);
    run_visible("tail", &args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_text_in_xml() {
        let service = Service {
            program: "/opt/a & b/toolcrib".into(),
            workspace: "/Users/x/<w>".into(),
            home: None,
            writes: Vec::new(),
        };
        let plist = plist(&service).unwrap();
        assert!(plist.contains("<string>/opt/a &amp; b/toolcrib</string>"));
        assert!(plist.contains("<string>/Users/x/&lt;w&gt;</string>"));
        assert!(!plist.contains("EnvironmentVariables"));
    }
}
