/** `storage`: the stored outputs: list, promote, delete, download. */
import type { Command } from 'commander';
import { saveOutputs } from '../download.ts';
import type { SavedFile } from '../download.ts';
import { NotDoneError, UsageError } from '../errors.ts';
import { createProgress } from '../progress.ts';
import { count, prepareDirectory } from '../session.ts';
import type { OpenSession, Session } from '../session.ts';
import { moment, size, table } from '../table.ts';
import type { WireStorageDecision, WireStorageItem, WireStorageList } from '@darkroom/api/tasks/storage';
import type { WireTask } from '@darkroom/api/tasks/task';

interface StorageFilters {
  readonly task?: string;
  readonly tier?: string;
  readonly type?: string;
}

const DEFAULT_LIMIT = 20;
/** Contract §5: rows of a page, and ids of a request. */
const LARGEST_PAGE = 100;
const MOST_IDS = 50;

export function addStorageCommand(program: Command, open: OpenSession): void {
  const storage = program.command('storage').description('list, promote, delete and download stored outputs');
  const filtered = (command: Command): Command =>
    command
      .option('--task <taskId>', 'only outputs of this task')
      .option('--tier <tier>', 'only this storage tier: temp or persistent')
      .option('--type <type>', 'only this type: image, video, audio, …');

  filtered(storage.command('list'))
    .description('list outputs, the newest first')
    .option('--status <status>', 'only those: available, pending or deleted')
    .option('--limit <number>', 'maximum number of results', count, DEFAULT_LIMIT)
    .action(async (options: StorageFilters & { status?: string; limit: number }) => {
      const { terminal, isJson, ...session } = await open();
      const { total, items } = await listOutputs(session, options, options.limit);
      if (isJson) {
        terminal.printJson({ total, items });
        return;
      }
      const rows = items.map((item) => [
        item.id,
        item.type,
        size(item.size),
        item.storage_tier,
        item.status,
        item.retainUntil === 0 ? '' : moment(item.retainUntil),
        item.taskId,
      ]);
      const head = ['OUTPUT', 'TYPE', 'SIZE>', 'TIER', 'STATUS', 'UNTIL', 'TASK'];
      for (const line of table(head, rows)) terminal.print(line);
      if (total > items.length) terminal.say(`${items.length} of ${total}; --limit shows more`);
    });

  storage
    .command('promote')
    .description('store outputs until they are deleted; persistent storage is charged daily')
    .argument('<outputId...>', 'ids of outputs')
    .action(async (ids: readonly string[]) => decide(await open(), '/storages/promote', ids, 'promotion started'));
  storage
    .command('delete')
    .description('delete outputs permanently')
    .argument('<outputId...>', 'ids of outputs')
    .action(async (ids: readonly string[]) => decide(await open(), '/storages/delete', ids, 'deleted'));

  filtered(storage.command('download'))
    .description('save outputs in a directory')
    .argument('[id...]', 'ids of outputs or tasks; without any, all that match the options')
    .requiredOption('-o, --output <directory>', 'where to')
    .option('--all', 'all stored outputs')
    .action(async (ids: readonly string[], options: StorageFilters & { output: string; all?: boolean }) => {
      const { task, tier, type, all } = options;
      const isFiltered = [task, tier, type, all].some((option) => option !== undefined);
      if (ids.length > 0 === isFiltered)
        throw new UsageError('name ids, or select outputs by --task, --tier, --type or --all');
      const session = await open();
      await download(session, ids, options, await prepareDirectory(options.output));
    });
}

async function listOutputs(
  { api, signal }: Pick<Session, 'api' | 'signal'>,
  { task, tier, type, status }: StorageFilters & { status?: string },
  limit = Number.POSITIVE_INFINITY,
): Promise<Pick<WireStorageList, 'total' | 'items'>> {
  const items: WireStorageItem[] = [];
  for (let page = 1; ; page++) {
    // All pages have the same size, or they would overlap.
    const query = { taskId: task, storage_tier: tier, type, status, page, size: Math.min(limit, LARGEST_PAGE) };
    const list = await api.call<WireStorageList>('GET', '/storages', { query, signal });
    items.push(...list.items);
    if (list.items.length === 0 || items.length >= Math.min(limit, list.total)) {
      return { total: list.total, items: items.slice(0, limit) };
    }
  }
}

async function decide(
  { api, terminal, isJson, signal }: Session,
  path: string,
  ids: readonly string[],
  done: string,
): Promise<void> {
  const accepted: string[] = [];
  const rejected: { readonly id: string; readonly reason: string }[] = [];
  for (let start = 0; start < ids.length; start += MOST_IDS) {
    const body = ids.slice(start, start + MOST_IDS);
    const decision = await api.call<WireStorageDecision>('POST', path, { body, signal });
    accepted.push(...decision.accepted);
    rejected.push(...decision.rejected);
  }
  if (isJson) terminal.printJson({ accepted, rejected });
  else for (const id of accepted) terminal.print(`${id}  ${done}`);
  if (rejected.length > 0) throw new NotDoneError(rejected.map(({ id, reason }) => `${id}: ${reason}`).join('\n'));
}

/** Outputs are downloaded through their tasks, which contain the SHA-256 of each. */
async function download(
  session: Session,
  ids: readonly string[],
  filters: StorageFilters,
  directory: string,
): Promise<void> {
  const { api, terminal, isJson, signal } = session;
  const wanted = await outputsOf(session, ids, filters);
  const progress = createProgress(terminal);
  const files: SavedFile[] = [];
  try {
    for (const [taskId, outputIds] of wanted) {
      const task = await api.call<WireTask>('GET', `/tasks/${encodeURIComponent(taskId)}`, { signal });
      const saved = await saveOutputs(api, task, {
        directory,
        signal,
        onBytes: progress.onBytes,
        ...(outputIds === undefined ? {} : { outputIds }),
      });
      files.push(...saved);
      if (!isJson) for (const { path } of saved) terminal.print(path);
    }
  } finally {
    progress.end();
  }
  if (isJson) terminal.printJson(files);
  if (files.length === 0) throw new NotDoneError('there is no such output');
}

/** @returns which outputs of which tasks; undefined: all of that task. @throws {NotDoneError} an id does not exist. */
async function outputsOf(
  session: Session,
  ids: readonly string[],
  filters: StorageFilters,
): Promise<ReadonlyMap<string, ReadonlySet<string> | undefined>> {
  const wanted = new Map<string, Set<string> | undefined>();
  const named = new Set(ids.filter((id) => !id.startsWith('tk-')));
  if (named.size > 0 || ids.length === 0) {
    const { items } = await listOutputs(session, filters);
    for (const { id, taskId } of items) {
      if (ids.length > 0 && !named.delete(id)) continue;
      wanted.set(taskId, (wanted.get(taskId) ?? new Set()).add(id));
    }
    if (ids.length > 0 && named.size > 0) throw new NotDoneError(`there is no such output: ${[...named].join(', ')}`);
  }
  for (const id of ids) if (id.startsWith('tk-')) wanted.set(id, undefined);
  return wanted;
}
