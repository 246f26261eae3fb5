// The models that can answer, shared by the composer, the first start and the settings.
import { api, path, type Schemas } from "./api";
import { session } from "./session.svelte";

export type Model = Schemas["ModelRow"];

class Models {
  /** `null` = not read yet. */
  all = $state.raw<Model[] | null>(null);

  /** Whether there is none but the one that replays the tour. */
  get none(): boolean {
    return this.all !== null && this.all.every((one) => one.tour);
  }

  get tour(): string | undefined {
    return this.all?.find((one) => one.tour)?.model;
  }

  async read(): Promise<void> {
    this.all = (await api.get<Schemas["ModelRowPage"]>("/models")).items;
  }

  found(): Promise<Schemas["FoundModel"][]> {
    if (!session.may("operator")) return Promise.resolve([]);
    return api.get<Schemas["FoundModelPage"]>("/models/found").then((page) => page.items);
  }

  test(model: string): Promise<Schemas["TestedModel"]> {
    return api.post("/models/test", { model });
  }

  async setDefault(model: string): Promise<void> {
    await api.put("/settings/model.default", { value: model });
    await this.read();
  }

  async setFallback(models: string[]): Promise<void> {
    if (models.length) await api.put("/settings/model.fallback", { value: models });
    else await api.delete("/settings/model.fallback");
    await this.read();
  }

  /** Writes a provider with its key, which goes into the vault, and makes its model the default. */
  async add(given: { provider: string; model: string; key: string; url: string; name: string }): Promise<string> {
    const id = given.name || given.provider;
    if (given.key) {
      const secret = `${id.replaceAll("-", "_")}_api_key`;
      await api.put(path`/secrets/${secret}`, { value: given.key });
      if (id !== given.provider) await api.put(path`/settings/${`providers.${id}.kind`}`, { value: given.provider });
      await api.put(path`/settings/${`providers.${id}.key.secret`}`, { value: secret });
    } else if (id !== given.provider) {
      await api.put(path`/settings/${`providers.${id}.kind`}`, { value: given.provider });
    }
    if (given.url) await api.put(path`/settings/${`providers.${id}.base_url`}`, { value: given.url });
    const model = `${id}/${given.model}`;
    await this.setDefault(model);
    return model;
  }
}

export const models = new Models();
