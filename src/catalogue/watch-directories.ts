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

  async function followAll(): Promise<void> {
    const directories = new Set(await list());
    for (const directory of watched.keys()) if (!directories.has(directory)) stop(directory);
    await Promise.all([...directories].map(follow));
  }

  const followNew = (): void => {
    // A change in a directory that was not watched in time is reported after all.
    const before = watched.size;
    void followAll().then(() => {
      if (watched.size !== before) onHint();
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
