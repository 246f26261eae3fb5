// How long interactions take, for the measures: by the browser's own event timing, and in time of a
// processor, which a busy machine does not change.
const SETTLE_MS = 1_500;

/** Times what is done on a page. */
export class Timer {
  static async of(page, context) {
    const timer = new Timer();
    timer.page = page;
    timer.client = await context.newCDPSession(page);
    await timer.client.send("Performance.enable", { timeDomain: "threadTicks" });
    return timer;
  }

  /** Seconds that the page has worked, by what. */
  async metrics() {
    const { metrics } = await this.client.send("Performance.getMetrics");
    return Object.fromEntries(metrics.map((one) => [one.name, one.value]));
  }

  /** Prints what `act` cost, which does something `count` times; `frames` counts frames as well, which is
   *  work of its own. */
  async time(name, count, act, frames = false) {
    const { page } = this;
    await page.evaluate((counted) => {
      window.timed = [];
      window.watch?.disconnect();
      window.watch = new PerformanceObserver((list) => list.getEntries().forEach((one) => one.interactionId && window.timed.push(one.duration)));
      window.watch.observe({ type: "event", durationThreshold: 16 });
      window.between = [];
      const mine = (window.ticking = {});
      let before = performance.now();
      const tick = (now) => {
        if (window.ticking !== mine) return;
        window.between.push(now - before);
        before = now;
        requestAnimationFrame(tick);
      };
      if (counted) requestAnimationFrame(tick);
    }, frames);
    const before = await this.metrics();
    await act();
    await page.evaluate(() => (window.ticking = null));
    await page.waitForTimeout(SETTLE_MS);
    const after = await this.metrics();
    const each = (metric) => `${(((after[metric] - before[metric]) * 1000) / count).toFixed(1)}`;
    const [timed, between] = (await page.evaluate(() => [window.timed, window.between])).map((all) => all.toSorted((a, b) => a - b));
    const events = timed.length ? `median ${timed[Math.floor(timed.length / 2)]} ms, longest ${timed.at(-1)} ms of ${timed.length}` : "none of 16 ms";
    const slow = frames ? `${between.filter((one) => one > 50).length} of ${between.length} frames over 50 ms, longest ${between.at(-1)?.toFixed(0)} ms; ` : "";
    console.log(`${name}: events ${events}; ${slow}the page worked ${each("TaskDuration")} ms each (script ${each("ScriptDuration")}, layout ${each("LayoutDuration")}, style ${each("RecalcStyleDuration")})`);
  }

  /** A key that is held for 60 ms shows that events are timed at all. */
  async control() {
    await this.page.evaluate(() => addEventListener("keydown", ({ key }) => {
      for (const end = performance.now() + 60; key === "F9" && performance.now() < end; );
    }));
    await this.time("a key that is held for 60 ms", 3, () => this.repeat(3, () => this.page.keyboard.press("F9")));
  }

  async repeat(count, act, pause = 120) {
    for (let at = 0; at < count; at++) {
      await act(at);
      await this.page.waitForTimeout(pause);
    }
  }

  /** Turns the wheel at a place of the window, down and up again, or up first. */
  async wheel(name, [x, y], by) {
    const turns = 40;
    await this.page.mouse.move(x, y);
    await this.time(name, turns, () => this.repeat(turns, (at) => this.page.mouse.wheel(0, at < turns / 2 ? by : -by), 50), true);
  }
}
