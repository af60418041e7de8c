/**
 * What a sandboxed child sees of the file system: Node, the system's libraries, our own program and its packages, the
 * files it is given, an empty `/tmp` of its own, a `/proc` of its own processes and four devices. All but `/tmp` is
 * read-only, and nothing else exists: neither the data directory, nor the configuration, nor other programs.
 */
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { programFiles } from './program-files.ts';

/** Where the view is put together. Every Linux has it, and nothing that a child needs lies below it. */
export const VIEW_ROOT = '/sys/view';

/** The programs that finish the sandbox from inside; they need no privilege, and have none. */
export const SANDBOX_TOOLS = {
  sh: '/bin/sh',
  setpriv: '/usr/bin/setpriv',
  prlimit: '/usr/bin/prlimit',
  umount: '/usr/bin/umount',
  chroot: '/usr/sbin/chroot',
} as const;

const LIBRARIES = ['/usr/lib', '/usr/lib64', '/usr/local/lib', '/lib', '/lib64', '/etc/ld.so.cache'];
const DEVICES = ['/dev/null', '/dev/zero', '/dev/random', '/dev/urandom'];

/** Of the view's own file system, `/tmp` included: it lies in memory. */
const SCRATCH = 'size=16m,nr_inodes=20000';

/** What the script in sandbox-command.ts is given. */
export interface SandboxView {
  /** Options of the file system that the view is made in. */
  readonly mountOptions: string;
  /** Mount points and directories to make, below the view. */
  readonly directories: readonly string[];
  readonly files: readonly string[];
  /** Lines of an fstab, in the order of mounting. */
  readonly mounts: readonly string[];
}

/**
 * Builds a view.
 *
 * @param readable files and directories that the child reads in addition to the program. Anything that does not exist
 *   is left out: the child itself then finds it missing.
 */
export function createSandboxView(readable: readonly string[]): SandboxView {
  const directories = new Set([VIEW_ROOT, '/.old', '/proc', '/tmp', '/dev'].map(toViewPath));
  const files: string[] = [];
  const mounts: string[] = [`${toViewPath('/tmp')} ${toViewPath('/tmp')} none bind,nosuid,nodev,noexec 0 0`];
  const shown: string[] = [];
  const show = (source: string, options: string): void => {
    const isShown = shown.some((directory) => source === directory || source.startsWith(`${directory}/`));
    if (isShown || !existsSync(source)) return;
    if (statSync(source).isDirectory()) directories.add(toViewPath(source));
    else {
      directories.add(toViewPath(path.dirname(source)));
      files.push(toViewPath(source));
    }
    shown.push(source);
    mounts.push(`${escapeForFstab(source)} ${escapeForFstab(toViewPath(source))} none ${options} 0 0`);
  };
  for (const source of [...LIBRARIES, ...Object.values(SANDBOX_TOOLS), process.execPath, ...programFiles()]) {
    show(source, 'bind,ro,nosuid,nodev');
  }
  for (const device of DEVICES) show(device, 'bind');
  for (const source of readable) show(path.resolve(source), 'bind,ro,nosuid,nodev,noexec');
  return { mountOptions: `mode=755,nosuid,nodev,${SCRATCH}`, directories: [...directories], files, mounts };
}

function toViewPath(absolute: string): string {
  return absolute === VIEW_ROOT ? VIEW_ROOT : VIEW_ROOT + absolute;
}

/** As fstab(5) specifies. */
function escapeForFstab(text: string): string {
  return text.replace(/[ \t\r\n\\#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`);
}
