/**
 * Reports when something in some directories may have changed: at once where the platform notifies us, and by a slow
 * poll in any case, because not every file system does (network mounts, links, a directory that is replaced as a
 * whole).
 */
import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { stat } from 'node:fs/promises';

export interface DirectoryWatch {
  close(): void;
}

/**
 * @param list the directories, which may be others each time.
 * @param onHint is sometimes called for no change, and often several times for one.
 * @param pollMs how often at least.
 */
export function watchDirectories(
  list: () => Promise<readonly string[]>,
  onHint: () => void,
  pollMs: number,
): DirectoryWatch {
  const watched = new Map<string, { readonly identity: string; readonly watcher: FSWatcher }>();
  let isClosed = false;

  function stop(directory: string): void {
    watched.get(directory)?.watcher.close();
    watched.delete(directory);
  }

  /** Watches what the name points to now: a watcher stays with a directory that was renamed or replaced. */
  async function follow(directory: string): Promise<void> {
    const identity = await stat(directory).then(
      ({ dev, ino }) => `${dev}:${ino}`,
      () => undefined,
    );
    if (isClosed || (identity !== undefined && watched.get(directory)?.identity === identity)) return;
    stop(directory);
    if (identity === undefined) return;
    try {
      const watcher = watch(directory, { persistent: false }, () => {
        // A new directory may have to be watched too.
        onHint();
        followNew();
      });
      watcher.on('error', () => stop(directory));
      watched.set(directory, { identity, watcher });
    } catch {
      // No more watchers are available, or none at all: the poll covers it.
    }
  }

  /** @returns whether a directory is watched now that was not. */
  async function followOnce(): Promise<boolean> {
    const directories = new Set(await list());
    for (const directory of watched.keys()) if (!directories.has(directory)) stop(directory);
    const before = new Set(watched.keys());
    await Promise.all([...directories].map(follow));
    return [...watched.keys()].some((directory) => !before.has(directory));
  }

  /** A directory that was created in another one before that was watched is found by listing them once more. */
  async function followUntilKnown(): Promise<boolean> {
    let hasNew = false;
    while (!isClosed && (await followOnce())) hasNew = true;
    return hasNew;
  }

  /** One after the other: two at once would watch a directory twice. */
  let following: Promise<boolean> = Promise.resolve(false);
  const followAll = (): Promise<boolean> => (following = following.then(followUntilKnown));

  const followNew = (): void => {
    void followAll().then((hasNew) => {
      // What changed in it before it was watched is reported after all.
      if (hasNew) onHint();
    });
  };
  const refresh = (): void => void followAll().then(onHint);
  const clock = setInterval(refresh, pollMs);
  clock.unref();
  refresh();
  return {
    close() {
      isClosed = true;
      clearInterval(clock);
      for (const directory of watched.keys()) stop(directory);
    },
  };
}
