// Starts the page.
import { mount } from "svelte";

import { i18n } from "./lib/i18n.svelte";
import App from "./App.svelte";
import "./app.css";
import "./chat.css";
import "./views.css";
import "./parts/trace.css";

const target = document.getElementById("app");
// Without the texts of another language the page is shown in English.
void i18n.start().catch(() => undefined).then(() => target && mount(App, { target }));
