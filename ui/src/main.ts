// Starts the page.
import { mount } from "svelte";

import App from "./App.svelte";
import "./app.css";
import "./chat.css";
import "./views.css";
import "./parts/trace.css";

const target = document.getElementById("app");
if (target) mount(App, { target });
