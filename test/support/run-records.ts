/**
 * Records of the test runs that change the machine itself. Network links, namespaces and packet filters stay when a run
 * is killed; the next one finds here whose they are. They last until the machine restarts, and so does `/run`.
 */
import { mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isSameProcess, readProcess } from '../../src/standalone/processes.ts';

export interface RunRecord {
  /** What the names of all its links and namespaces begin with. */
  readonly mark: string;
  readonly pid: number;
  /** Distinguishes it from a later process with the same pid. */
  readonly startToken: string;
  /** A directory that only its processes have in their command lines. */
  readonly directory?: string;
}

export interface RunRecords {
  /** Before the first change. @param owner default: this process. */
  add(run: Pick<RunRecord, 'mark' | 'directory'>, owner?: Pick<RunRecord, 'pid' | 'startToken'>): Promise<void>;
  list(): Promise<readonly (RunRecord & { readonly isAlive: boolean })[]>;
  remove(mark: string): Promise<void>;
}

const SUFFIX = '.json';

/** @param kind of the runs, which have their records apart. */
export function openRunRecords(kind: 'hosts' | 'containers', root = '/run/darkroom-tests'): RunRecords {
  const directory = path.join(root, kind);
  const fileOf = (mark: string): string => path.join(directory, `${mark}${SUFFIX}`);
  return {
    async add(run, owner) {
      const self = owner ?? (await readProcess(process.pid));
      if (self === undefined) throw new Error('this process does not find itself');
      const record: RunRecord = { ...run, pid: self.pid, startToken: self.startToken };
      await mkdir(directory, { recursive: true });
      await writeFile(`${fileOf(run.mark)}.new`, JSON.stringify(record));
      await rename(`${fileOf(run.mark)}.new`, fileOf(run.mark));
    },
    async list() {
      const names = await readdir(directory).catch(() => []);
      const records = names.filter((name) => name.endsWith(SUFFIX)).map((name) => read(path.join(directory, name)));
      return Promise.all(
        (await Promise.all(records)).map(async (record) => ({ ...record, isAlive: await isSameProcess(record) })),
      );
    },
    remove: (mark) => rm(fileOf(mark), { force: true }),
  };
}

async function read(file: string): Promise<RunRecord> {
  return JSON.parse(await readFile(file, 'utf8')) as RunRecord;
}
