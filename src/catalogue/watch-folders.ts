/**
 * Reports when something in some directories may have changed: at once where the platform notifies us, and by a slow
 * poll in any case, because not every file system does (network mounts, links, a directory that is replaced as a
 * whole).
 */
import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { stat } from 'node:fs/promises';

export interface FolderWatch {
  close(): void;
}

/**
 * @param onHint is sometimes called for no change, and often several times for one.
 * @param pollMs how often at least.
 */
export function watchFolders(folders: readonly string[], onHint: () => void, pollMs: number): FolderWatch {
  const watched = new Map<string, { readonly identity: string; readonly watcher: FSWatcher }>();
  let isClosed = false;

  function stop(folder: string): void {
    watched.get(folder)?.watcher.close();
    watched.delete(folder);
  }

  /** Watches what the name points to now: a watcher stays with a directory that was renamed or replaced. */
  async function follow(folder: string): Promise<void> {
    const identity = await stat(folder).then(
      ({ dev, ino }) => `${dev}:${ino}`,
      () => undefined,
    );
    if (isClosed || (identity !== undefined && watched.get(folder)?.identity === identity)) return;
    stop(folder);
    if (identity === undefined) return;
    try {
      const watcher = watch(folder, { persistent: false }, onHint);
      watcher.on('error', () => stop(folder));
      watched.set(folder, { identity, watcher });
    } catch {
      // No more watchers are available, or none at all: the poll covers it.
    }
  }

  const refresh = (): void => {
    for (const folder of folders) void follow(folder).then(onHint);
  };
  const clock = setInterval(refresh, pollMs);
  clock.unref();
  refresh();
  return {
    close() {
      isClosed = true;
      clearInterval(clock);
      for (const folder of folders) stop(folder);
    },
  };
}
