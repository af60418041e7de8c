/** The media children of this process as Linux shows them: what the tests look at to see one come and go. */
import { readFileSync, readdirSync } from 'node:fs';
import { until } from '../support/until.ts';

/** Whether processes can be looked at: on Linux. */
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
    // The state and the parent stand behind the name, which may hold anything.
    const [state, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    if (state === 'Z' || !isDescendant(Number(parent))) return false;
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    // What makes the sandbox first is told the same, and waits for this.
    return command.startsWith(process.execPath) && /media\/(decode|encode|inspect)-child/.test(command);
  } catch {
    // It ended meanwhile.
    return false;
  }
}

/** Whether a process is this one, or has been started by one that is. */
function isDescendant(pid: number): boolean {
  if (pid <= 1) return false;
  return pid === process.pid || isDescendant(parentOf(readFileSync(`/proc/${pid}/stat`, 'utf8')));
}

function parentOf(stat: string): number {
  return Number(stat.replace(/^.*\) /s, '').split(' ')[1]);
}

/** Waits until so many media children run. */
export async function waitForChildren(count: number): Promise<readonly number[]> {
  let children = mediaChildren();
  await until(
    () => `${children.length} media children run, not ${count}`,
    () => {
      children = mediaChildren();
      return children.length === count;
    },
  );
  return children;
}
