/**
 * The processes that an installation has started, recorded in its data directory: a supervisor that was killed leaves
 * some behind, and the next start finds and stops them with this record.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { killGroup } from './launch.ts';
import { isSameProcess, readProcess } from './process-identity.ts';

interface RecordedProcess {
  readonly pid: number;
  readonly startToken: string;
  readonly stopSignal: NodeJS.Signals;
}

const FILE = 'processes.json';
/** How long an orphan has to finish its work; parts that need more time are stopped by their supervisor. */
const STOP_TIMEOUT_MS = 5_000;
const POLL_MS = 50;

export class ProcessRecord {
  readonly #file: string;
  readonly #processes = new Map<string, RecordedProcess>();

  constructor(directory: string) {
    this.#file = path.join(directory, FILE);
  }

  /** Records a process just started under a part's name; the previous one is removed. */
  async add(name: string, pid: number, stopSignal: NodeJS.Signals): Promise<void> {
    const identity = await readProcess(pid);
    if (identity === undefined) return;
    this.#processes.set(name, { pid, startToken: identity.startToken, stopSignal });
    this.#save();
  }

  /** Removes a process that has ended. */
  remove(name: string): void {
    if (this.#processes.delete(name)) this.#save();
  }

  /**
   * Stops the processes that an earlier supervisor left running. Each is ended only if it is the recorded process
   * itself.
   *
   * @param others pids found in another way, with proof that they are ours.
   * @returns the names of those stopped.
   */
  async stopOrphans(others: ReadonlyMap<string, number>): Promise<string[]> {
    const found = this.#read();
    for (const [name, pid] of others) {
      const identity = await readProcess(pid);
      if (identity !== undefined) found.set(name, { pid, startToken: identity.startToken, stopSignal: 'SIGINT' });
    }
    const stopped = await Promise.all(
      [...found].map(async ([name, recorded]) => ((await stopOrphan(recorded)) ? [name] : [])),
    );
    this.#save();
    return stopped.flat();
  }

  #read(): Map<string, RecordedProcess> {
    try {
      return new Map(Object.entries(JSON.parse(readFileSync(this.#file, 'utf8')) as Record<string, RecordedProcess>));
    } catch {
      return new Map();
    }
  }

  #save(): void {
    const draft = `${this.#file}.new`;
    writeFileSync(draft, JSON.stringify(Object.fromEntries(this.#processes)), { mode: 0o600 });
    renameSync(draft, this.#file);
  }
}

async function stopOrphan(recorded: RecordedProcess): Promise<boolean> {
  if (!(await isSameProcess(recorded))) return false;
  process.kill(recorded.pid, recorded.stopSignal);
  const deadline = Date.now() + STOP_TIMEOUT_MS;
  while (await isSameProcess(recorded)) {
    if (Date.now() > deadline) killGroup(recorded.pid);
    await delay(POLL_MS);
  }
  return true;
}
