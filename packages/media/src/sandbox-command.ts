/**
 * The command lines that put a child into its sandbox: programs of util-linux and coreutils that every Debian has,
 * each of which replaces itself with the next. No code of ours runs with a privilege that the child has to lose, and
 * there is nothing to compile.
 */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { PACKAGE_DIRECTORY } from './program-files.ts';
import { SANDBOX_TOOLS, VIEW_ROOT, createSandboxView } from './sandbox-view.ts';
import type { SandboxView } from './sandbox-view.ts';

/**
 * How a child is confined, the best first:
 *
 * - `other-user`: namespaces and a view of its own, as a user that owns nothing. Needs root.
 * - `user-namespace`: the same as our own user, in a user namespace without capabilities. Needs no privilege.
 * - `namespaces`: the same without a view: it reads what our user reads. For machines where nothing may be mounted.
 * - `limits`: limits and no new privileges alone. For machines where namespaces are forbidden, as in most containers.
 * - `none`: not Linux, or without util-linux.
 */
export type Confinement = 'other-user' | 'user-namespace' | 'namespaces' | 'limits' | 'none';

/** The kernel's limits of one child. */
export interface SandboxLimits {
  /** The limit of processor time, of all threads together. */
  readonly cpuSeconds: number;
  /** Private writable memory, in megabytes: what is only reserved does not count. */
  readonly dataMb: number;
  /** The largest file that it may write, in megabytes. */
  readonly fileMb: number;
  readonly openFiles: number;
  /** Processes and threads; undefined if the kernel counts those of other children too. */
  readonly processes?: number | undefined;
}

/** A program with its arguments, and what it is given. */
export interface SandboxedProgram {
  readonly command: readonly string[];
  readonly limits: SandboxLimits;
  /** Files and directories that it reads in addition to our own program. */
  readonly readable: readonly string[];
  /** How far below normal its priority is, 0 to 19. */
  readonly niceness: number;
}

const UNSHARE = '/usr/bin/unshare';
const NICE = '/usr/bin/nice';
const { sh: SH, setpriv: SETPRIV, prlimit: PRLIMIT } = SANDBOX_TOOLS;

/** A process that ends with its parent: our thread, or `unshare`. */
const WITH_PARENT = ['--pdeathsig', 'KILL'];
/** `--kill-child`: what kills `unshare` kills the first process of the namespace, and that kills all in it. */
const ISOLATED = ['--pid', '--net', '--ipc', '--uts', '--fork', '--kill-child'];

/** The privilege to give up privileges for good: linux/capability.h. */
const CAP_SETPCAP = 8n;

/** Users of their own: above all those that systems and their containers assign, one for each child. */
const FIRST_USER = 1_000_000_000;
const USERS = 1_000_000_000;

/**
 * Runs as the first process of the new namespaces, and becomes the program that its arguments name. What is mounted
 * is in memory and ends with the namespace. The old root is unmounted, and the child is changed into a directory
 * below the new one: the kernel lets no process that is confined this way create a user namespace. `subset=pid`
 * leaves the kernel's settings out of `/proc`; a kernel before 5.8 does not know it. `shmmni` is the namespace's own:
 * shared memory of System V would outlive what is counted of a process.
 */
function viewScript({ mountOptions, directories, files, mounts }: SandboxView): string {
  return `set -e
umask 022
mount -n -t tmpfs -o ${mountOptions} sandbox /sys
cd /sys
mkdir -p ${directories.map(quote).join(' ')}
chmod 1777 view/tmp
for file in ${files.map(quote).join(' ')}; do : > "$file"; done
ln -s view/lib view/lib64 view/usr view/proc .
printf '%s\\n' ${mounts.map(quote).join(' ')} > fstab
mount -n -a -T fstab
mount -n -t proc -o ro,nosuid,nodev,noexec,subset=pid proc view/proc 2>/dev/null ||
  mount -n -t proc -o ro,nosuid,nodev,noexec proc view/proc
echo 0 2>/dev/null > /proc/sys/kernel/shmmni || true
mount -n -o remount,bind,ro,nosuid,nodev /sys
pivot_root . view/.old
view/usr/bin/umount -n -l view/.old
exec "view$@"`;
}

/** Quotes a word for the shell, whatever it contains. */
function quote(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * Runs as the first process of the namespace, whose end is the end of all others. The program itself is not that
 * process: the kernel keeps signals from a first process, its own included.
 */
const RUN_AS_FIRST = 'cd "$1"; shift; unset PWD OLDPWD; "$@"; exit $?';

/**
 * The command line of a program in its sandbox.
 *
 * @returns the program's own if there is no confinement.
 */
export function sandboxCommand(confinement: Confinement, program: SandboxedProgram): readonly string[] {
  const { command, niceness } = program;
  if (confinement === 'none') return command;
  const started = [...(niceness > 0 ? [NICE, '-n', String(niceness)] : []), SETPRIV, ...WITH_PARENT];
  const limited = [PRLIMIT, ...limitOptions(program.limits)];
  if (confinement === 'limits') return [...started, '--no-new-privs', ...capabilityOptions(), ...limited, ...command];
  const withoutRights = [SETPRIV, '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all'];
  const inside = [...WITH_PARENT, SH, '-c', RUN_AS_FIRST, 'sandbox', PACKAGE_DIRECTORY, ...command];
  if (confinement === 'namespaces')
    return [...started, UNSHARE, '-r', ...ISOLATED, ...limited, ...withoutRights, ...inside];
  const [owner, identity] = confinement === 'other-user' ? [[], createUserOptions()] : [['-r'], []];
  const isolated = [UNSHARE, ...owner, '--mount', ...ISOLATED];
  const seeing = [SH, '-c', viewScript(createSandboxView(program.readable)), 'sandbox'];
  const changed = [...limited, SANDBOX_TOOLS.chroot, VIEW_ROOT.slice('/sys'.length)];
  return [...started, ...isolated, ...seeing, ...changed, ...withoutRights, ...identity, ...inside];
}

/** Root without capabilities, if we are root and may drop them. Another user has none, and cannot get any. */
function capabilityOptions(): readonly string[] {
  if (process.getuid?.() !== 0) return [];
  const [, effective = '0'] = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  const canDrop = ((BigInt(`0x${effective}`) >> CAP_SETPCAP) & 1n) === 1n;
  return canDrop ? ['--bounding-set=-all', '--inh-caps=-all'] : [];
}

/**
 * Without a group either. A change of user clears what was requested before, so the signal for the parent's end comes
 * after.
 */
function createUserOptions(): readonly string[] {
  const user = FIRST_USER + randomInt(USERS);
  return [`--reuid=${user}`, `--regid=${user}`, '--clear-groups'];
}

function limitOptions({ cpuSeconds, dataMb, fileMb, openFiles, processes }: SandboxLimits): readonly string[] {
  const bytes = (megabytes: number): number => megabytes * 1024 ** 2;
  return [
    '--core=0',
    // The first is a signal that states the reason, the second cannot be caught.
    `--cpu=${cpuSeconds}:${cpuSeconds + 5}`,
    `--data=${bytes(dataMb)}`,
    `--fsize=${bytes(fileMb)}`,
    `--nofile=${openFiles}`,
    '--memlock=0',
    '--msgqueue=0',
    ...(processes === undefined ? [] : [`--nproc=${processes}`]),
  ];
}
