/**
 * The catalogue of a running process: its model files are read again when they change, and their new content is
 * adopted. A bad file keeps the model that it had, and blocks no other. Tasks continue under the definitions that
 * they were accepted with, which are pinned; a new definition is pinned before the first request can name it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../telemetry/log.ts';
import { createCatalogue } from './catalogue.ts';
import type { Catalogue, CatalogueState } from './catalogue.ts';
import { definitionHash } from './definition.ts';
import type { CatalogueModel } from './text-definition.ts';
import { createModelReader } from './load-models.ts';
import { isSameTexts, readModelTexts, throwProblems } from './model-files.ts';
import type { ModelTexts } from './model-files.ts';
import type { PinnedDefinitions } from './pinned-definitions.ts';
import type { Protocol } from './protocol.ts';
import { watchDirectories } from './watch-directories.ts';

export interface LiveCatalogue extends Catalogue {
  /** Stops watching the files; a change that is being adopted is still adopted. */
  close(): Promise<void>;
}

export interface LiveCatalogueOptions {
  /** Where the model files are. */
  readonly directories: readonly string[];
  /** Which model files can name. */
  readonly protocols: readonly Protocol[];
  readonly definitions: Pick<PinnedDefinitions, 'pin'>;
  readonly logger: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Notified of the number of bad files, whenever they have changed. */
  readonly onRejected?: (files: number) => void;
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
 * @throws {ModelFileError} @throws {ModelFilesError} some are bad: there is no previous catalogue to keep.
 */
export async function openLiveCatalogue(options: LiveCatalogueOptions): Promise<LiveCatalogue> {
  const {
    directories,
    protocols,
    definitions,
    logger,
    now,
    onRejected,
    pollMs = POLL_MS,
    settleMs = SETTLE_MS,
  } = options;
  const read = createModelReader(protocols);
  let texts = await readModelTexts(directories);
  const first = read(texts);
  throwProblems(first.problems);
  await definitions.pin(first.definitions);
  let current = createCatalogue(first.definitions, now);
  let rejected: CatalogueState['rejected'];
  let isClosed = false;

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

  async function adopt(next: ModelTexts): Promise<void> {
    const { definitions: models, problems } = read(next);
    const changes = changesBetween(current.models, models);
    const hasChanges = changes.definitions.length > 0 || changes.names.removed.length > 0;
    if (hasChanges || problems.length === 0) {
      await definitions.pin(changes.definitions);
      current = createCatalogue(models, now);
      logger.info(changes.names, 'catalogue updated from the model files');
    }
    for (const { file, problem, message } of problems) {
      // The terminal of npm start shows the message alone.
      logger.error({ file, problem }, `model file rejected; its previous content stays in use: ${message}`);
    }
    if (problems.length > 0) onRejected?.(problems.length);
    rejected = problems.length === 0 ? undefined : { since: now(), problems };
    texts = next;
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

  let refreshing: Promise<void> | undefined;
  let isHinted = false;

  async function refreshWhileHinted(): Promise<void> {
    while (isHinted && !isClosed) {
      isHinted = false;
      await refresh();
    }
    refreshing = undefined;
  }

  const watching = watchDirectories(
    directories,
    () => {
      isHinted = true;
      refreshing ??= refreshWhileHinted();
    },
    pollMs,
  );

  return {
    get models() {
      return current.models;
    },
    available: () => current.available(),
    find: (name) => current.find(name),
    resolve: (name, route) => current.resolve(name, route),
    resolveText: (name) => current.resolveText(name),
    state: () => ({ since: current.state().since, rejected }),
    async close() {
      isClosed = true;
      watching.close();
      await refreshing;
    },
  };
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
