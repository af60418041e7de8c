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
 * @param onHint is sometimes called for no change, and often several times for one.
 * @param pollMs how often at least.
 */
export function watchDirectories(directories: readonly string[], onHint: () => void, pollMs: number): DirectoryWatch {
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
      const watcher = watch(directory, { persistent: false }, onHint);
      watcher.on('error', () => stop(directory));
      watched.set(directory, { identity, watcher });
    } catch {
      // No more watchers are available, or none at all: the poll covers it.
    }
  }

  const refresh = (): void => {
    for (const directory of directories) void follow(directory).then(onHint);
  };
  const clock = setInterval(refresh, pollMs);
  clock.unref();
  refresh();
  return {
    close() {
      isClosed = true;
      clearInterval(clock);
      for (const directory of directories) stop(directory);
    },
  };
}
