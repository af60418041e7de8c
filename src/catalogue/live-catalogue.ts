/**
 * The catalogue of a running process: its model files are read again when they change, and their new content is
 * adopted; so are the settings of providers, without which their models are not offered. A bad file keeps the model that
 * it had, across restarts too, and blocks no other. Tasks continue under the definitions that they were accepted with,
 * which are pinned; a new definition is pinned before the first request can name it.
 */
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../telemetry/log.ts';
import { ModelWithheldError, createCatalogue } from './catalogue.ts';
import type { Catalogue, CatalogueState } from './catalogue.ts';
import { definitionHash } from './definition.ts';
import type { CatalogueModel } from './text-definition.ts';
import { createModelReader } from './load-models.ts';
import type { ProvenModels, ReadModels } from './load-models.ts';
import { lossesOf } from './work-cost.ts';
import { isProviderFile, isSameTexts, listModelDirectories, readModelTexts, throwProblems } from './model-files.ts';
import type { ModelFileError, ModelTexts } from './model-files.ts';
import type { LastGoodFiles } from './last-good-files.ts';
import type { PinnedDefinitions } from './pinned-definitions.ts';
import { NO_SETTINGS, createOffer, findMissing, providerNamesOf } from './offer.ts';
import type { OfferedProvider, ProviderSettings } from './offer.ts';
import type { Protocol } from './protocol.ts';
import { watchDirectories } from './watch-directories.ts';

/** The settings of providers in this process. */
export interface LiveProviderSettings extends ProviderSettings {
  /** Calls the listener after each change. @returns ends that. */
  onChange(listener: () => void): () => void;
}

export interface LiveCatalogue extends Catalogue {
  /** Stops watching the files; a change that is being adopted is still adopted. */
  close(): Promise<void>;
}

export interface LiveCatalogueOptions {
  /** Where the model files are. */
  readonly directories: readonly string[];
  /** Which model files can name. */
  readonly protocols: readonly Protocol[];
  /** The model files that are known to have no problem; default: none. */
  readonly proven?: ProvenModels;
  readonly definitions: Pick<PinnedDefinitions, 'pin'>;
  readonly logger: Logger;
  /** Default: nothing is configured. */
  readonly settings?: LiveProviderSettings;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** What files contained when they had no problem last; default: nothing is remembered. */
  readonly lastGood?: LastGoodFiles;
  /** Notified of the problems of bad files whenever those have changed, and without any when none is left. */
  readonly onRejected?: (problems: readonly ModelFileError[]) => void;
  /** How often to poll if no event reports a change. */
  readonly pollMs?: number;
  /** For how long the files must stay unchanged: editors write in several steps, and a release is many files. */
  readonly settleMs?: number;
}

const POLL_MS = 10_000;
const SETTLE_MS = 250;
/**
 * How often to wait for files that keep changing. After that they are read as they are; a half-written file is rejected
 * and read again.
 */
const MAX_SETTLING_ROUNDS = 40;

/**
 * Loads the model files, pins them and follows them.
 *
 * @throws {ModelFileError} @throws {ModelFilesError} some are bad, and none was ever good: there is nothing to keep.
 */
export async function openLiveCatalogue(options: LiveCatalogueOptions): Promise<LiveCatalogue> {
  const {
    directories,
    protocols,
    proven,
    definitions,
    settings = { ...NO_SETTINGS, onChange: () => () => {} },
    logger,
    now,
    lastGood,
    onRejected,
    pollMs = POLL_MS,
    settleMs = SETTLE_MS,
  } = options;
  const read = createModelReader(protocols, proven);
  let texts = await readModelTexts(directories);
  let known = await read(texts);
  if (known.problems.length > 0) {
    const remembered = (await lastGood?.read()) ?? new Map();
    if (remembered.size === 0) throwProblems(known.problems);
    // As if the process had been running when the files became bad.
    await read(new Map([...texts, ...remembered]));
    known = await read(texts);
  }
  const offer = createOffer(settings);
  // What would be offered if no provider rejected its credential.
  const offerWhole = createOffer({
    hasCredential: (name) => settings.hasCredential(name),
    baseUrlOf: (provider) => settings.baseUrlOf(provider),
  });
  const offered = offer(known);
  await definitions.pin(offered);
  let current = createCatalogue(offered, now);
  let whole = createCatalogue(offerWhole(known), now);
  warnOfLosses(offered);
  let rejected: CatalogueState['rejected'];
  let isClosed = false;
  await noteProblems();

  /** Reports the bad files, and remembers the others. */
  async function noteProblems(): Promise<void> {
    const { problems } = known;
    for (const { file, problem, message } of problems) {
      const isKept = hasContentOf(known, file);
      const outcome = isKept ? 'its previous content stays in use' : 'there is no previous content to use';
      // The terminal of npm start shows the message alone.
      logger.error({ file, problem }, `model file rejected; ${outcome}: ${message}`);
    }
    const bad = new Set(problems.map(({ file }) => file));
    if (bad.size > 0 || rejected !== undefined) onRejected?.(problems);
    rejected = bad.size === 0 ? undefined : { since: now(), problems };
    await lastGood?.store(texts, bad);
  }

  function warnOfLosses(models: readonly CatalogueModel[]): void {
    for (const loss of lossesOf(models)) logger.warn(loss, 'model sells below cost');
  }

  /** @returns the content of the files once they have stopped changing. */
  async function settled(seen: ModelTexts): Promise<ModelTexts> {
    let last = seen;
    for (let round = 1; round <= MAX_SETTLING_ROUNDS && !isClosed; round++) {
      await delay(settleMs);
      const next = await readModelTexts(directories);
      if (isSameTexts(last, next)) break;
      last = next;
    }
    return last;
  }

  /** Offers what can be offered of the models that were read last. @returns whether anything has changed. */
  async function offerKnown(cause: string, isForced = false): Promise<void> {
    const models = offer(known);
    whole = createCatalogue(offerWhole(known), now);
    const changes = changesBetween(current.models, models);
    if (!isForced && changes.definitions.length === 0 && changes.names.removed.length === 0) return;
    await definitions.pin(changes.definitions);
    current = createCatalogue(models, now);
    warnOfLosses(changes.definitions);
    logger.info(changes.names, `catalogue updated from ${cause}`);
  }

  async function adopt(next: ModelTexts): Promise<void> {
    const before = known;
    known = await read(next);
    try {
      await offerKnown('the model files', known.problems.length === 0);
    } catch (error) {
      known = before;
      throw error;
    }
    texts = next;
    await noteProblems();
  }

  async function refresh(): Promise<void> {
    try {
      const seen = await readModelTexts(directories);
      if (isSameTexts(seen, texts)) return;
      const next = await settled(seen);
      if (!isSameTexts(next, texts)) await adopt(next);
    } catch (err) {
      // The files are still there, and the next poll finds them.
      logger.warn({ err }, 'loading changed model files failed');
    }
  }

  /** Offers the models anew after the settings of providers have changed. */
  async function followSettings(): Promise<void> {
    // They may change again meanwhile.
    haveSettingsChanged = false;
    try {
      await offerKnown('the settings of providers');
    } catch (err) {
      haveSettingsChanged = true;
      // The next poll tries again.
      logger.warn({ err }, 'adopting changed settings of providers failed');
    }
  }

  /** @throws {ModelWithheldError} */
  function unlessWithheld<Model>(name: string, resolve: (catalogue: Catalogue) => Model): Model {
    try {
      return resolve(current);
    } catch (error) {
      try {
        resolve(whole);
      } catch {
        throw error;
      }
      throw new ModelWithheldError(name);
    }
  }

  let refreshing: Promise<void> | undefined;
  let isHinted = false;
  let haveSettingsChanged = false;

  async function refreshWhileHinted(): Promise<void> {
    while (isHinted && !isClosed) {
      isHinted = false;
      if (haveSettingsChanged) await followSettings();
      await refresh();
    }
    refreshing = undefined;
  }

  const hint = (): void => {
    isHinted = true;
    refreshing ??= refreshWhileHinted();
  };
  const watching = watchDirectories(() => listModelDirectories(directories), hint, pollMs);
  const stopFollowing = settings.onChange(() => {
    haveSettingsChanged = true;
    hint();
  });

  return {
    get models() {
      return current.models;
    },
    available: () => current.available(),
    find: (name) => current.find(name),
    resolve: (name, route) =>
      unlessWithheld(route === undefined ? name : `${name}@${route}`, (catalogue) => catalogue.resolve(name, route)),
    resolveText: (name) => unlessWithheld(name, (catalogue) => catalogue.resolveText(name)),
    state: () => ({ since: current.state().since, rejected }),
    providers: () => providersOf(known, settings),
    async settingsAdopted() {
      await refreshing;
    },
    async close() {
      isClosed = true;
      stopFollowing();
      watching.close();
      await refreshing;
    },
  };
}

/** @param file a model file, a provider's file, or a directory. @returns whether something that it had is in use. */
function hasContentOf({ files, providers }: ReadModels, file: string): boolean {
  if (isProviderFile(file)) return providers.some(({ name }) => name === path.basename(path.dirname(file)));
  return [...files.keys()].some((known) => known === file || path.dirname(known) === file);
}

function providersOf({ definitions, providers }: ReadModels, settings: ProviderSettings): readonly OfferedProvider[] {
  return providers
    .map((provider) => ({
      provider,
      missing: findMissing(provider, settings),
      models: definitions.filter((definition) => providerNamesOf(definition).has(provider.name)),
    }))
    .toSorted((one, other) => one.provider.name.localeCompare(other.provider.name));
}

interface Changes {
  /** The new and the changed ones. */
  readonly definitions: readonly CatalogueModel[];
  /** The names as they are logged. */
  readonly names: Readonly<Record<'added' | 'changed' | 'removed', readonly string[]>>;
}

function changesBetween(before: readonly CatalogueModel[], after: readonly CatalogueModel[]): Changes {
  const known = new Map(before.map((definition) => [definition.name, definitionHash(definition)]));
  const remaining = new Set(after.map(({ name }) => name));
  const definitions = after.filter((definition) => known.get(definition.name) !== definitionHash(definition));
  const names = definitions.map(({ name }) => name);
  return {
    definitions,
    names: {
      added: names.filter((name) => !known.has(name)),
      changed: names.filter((name) => known.has(name)),
      removed: [...known.keys()].filter((name) => !remaining.has(name)),
    },
  };
}
