/** The media children of this process as Linux shows them: the tests use it to observe when one starts and ends. */
import { readFileSync, readdirSync } from 'node:fs';
import { waitFor } from '@darkroom/testing/wait-for';

/** Whether processes can be inspected: on Linux. */
export const CAN_SEE_PROCESSES = process.platform === 'linux';

/** The media children of this process that have not ended. */
export function mediaChildren(): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => isMediaChild(pid))
    .map(Number);
}

function isMediaChild(pid: string): boolean {
  try {
    // The state and the parent come after the name, which may contain anything.
    const [state, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    if (state === 'Z' || !isDescendant(Number(parent))) return false;
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    // The program that first sets up the sandbox has the same arguments, and waits for the child.
    return command.startsWith(process.execPath) && /media\/dist\/src\/(decode|encode|inspect)-child/.test(command);
  } catch {
    // It ended meanwhile.
    return false;
  }
}

/** Whether a process is this one, or a descendant of it. */
function isDescendant(pid: number): boolean {
  if (pid <= 1) return false;
  return pid === process.pid || isDescendant(parentOf(readFileSync(`/proc/${pid}/stat`, 'utf8')));
}

function parentOf(stat: string): number {
  return Number(stat.replace(/^.*\) /s, '').split(' ')[1]);
}

/** Waits until this many media children run. */
export async function waitForChildren(count: number): Promise<readonly number[]> {
  let children = mediaChildren();
  await waitFor(
    () => `${children.length} media children run, not ${count}`,
    () => {
      children = mediaChildren();
      return children.length === count;
    },
  );
  return children;
}
