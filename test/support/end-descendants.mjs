/**
 * Loaded into every test process. The runner ends a file that takes too long with SIGTERM; whatever that file had
 * started would then live on, servers in process groups of their own included, and slow down the files that follow.
 */
import { readFileSync, readdirSync } from 'node:fs';

/** @returns the process ids of all that `ancestor` has started, and they in turn; empty where there is no /proc. */
export function descendantsOf(ancestor) {
  const children = new Map();
  for (const [pid, parent] of listProcesses()) children.set(parent, [...(children.get(parent) ?? []), pid]);
  const found = [];
  const next = [ancestor];
  for (let pid = next.pop(); pid !== undefined; pid = next.pop()) {
    const started = children.get(pid) ?? [];
    found.push(...started);
    next.push(...started);
  }
  return found;
}

/** Pairs of a process and its parent. */
function listProcesses() {
  try {
    return readdirSync('/proc').flatMap((name) => {
      const pid = Number(name);
      const parent = Number.isInteger(pid) ? parentOf(pid) : undefined;
      return parent === undefined ? [] : [[pid, parent]];
    });
  } catch {
    return [];
  }
}

/** @returns undefined where the process has ended meanwhile. */
function parentOf(pid) {
  try {
    // "1234 (a name (with) brackets) S 1 …": the parent is the second field after the name.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

// The runner is an exception: it asks its test processes to end, and reports.
if (process.env['NODE_TEST_CONTEXT'] !== undefined) {
  process.once('SIGTERM', () => {
    for (const pid of descendantsOf(process.pid)) kill(pid);
    process.exit(143);
  });
}
