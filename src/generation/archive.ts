/**
 * Copies every generated file into the object store and detects its real type (architecture, "Archiving really
 * copies"). The type is read from the bytes and never taken from the provider; nothing is readable before the
 * settlement names it.
 */
import type { Readable } from 'node:stream';
import { UnsupportedMediaError } from '@darkroom/media/inspect';
import type { Modality } from '../catalogue/definition.ts';
import type { ArchivedOutput, StoredFile } from '../domain/run-record.ts';
import { isTerminal } from '@darkroom/api/facts/task-status';
import { EgressError } from '../egress/egress-error.ts';
import { ObjectTooLargeError, storedSource } from '../objects/stores/object-store.ts';
import { MAX_TRANSCRIPT_BYTES, isTranscript, mimeTypeOfFormat } from '../transcripts/formats.ts';
import type { TranscriptFormat } from '../transcripts/formats.ts';
import { beginArchiving, beginHandling, pauseArchiving, startArchiving } from '../tasks/lifecycle/transitions.ts';
import { readGeneration } from '../tasks/lifecycle/generations.ts';
import type { BegunTask, WorkingTask } from '../tasks/lifecycle/transitions.ts';
import type { GeneratedFile, Generation } from '../tasks/lifecycle/generations.ts';
import type { ArchiveResult, MediaTaskInput, SettleResult } from '../../workflows/contracts.ts';
import { archiveFrames } from './archive-frames.ts';
import type { Attempt } from './attempt.ts';
import type { GenerationContext } from './context.ts';
import { generationOfThisRun } from './earlier-work.ts';
import { permanentFailure, retryableFailure } from './failure.ts';
import { attemptKey } from './stage-files.ts';
import { routesOf } from './task-route.ts';
import { runUntilStopped } from './stopping.ts';
import { transcriptFormats } from './transcript-formats.ts';
import { finishGeneration } from './wait.ts';

type ArchiveInput = Pick<MediaTaskInput, 'taskId' | 'handlingSeconds' | 'archivingSeconds'>;

/**
 * The maximum size of one output. An hour of video at a good bit rate is below 2 GiB; anything larger is a mistake or
 * an attack.
 */
const MAX_OUTPUT_BYTES = 2 * 1024 ** 3;
/**
 * The time limit of the download of one file, in milliseconds; the deadline of the archiving stage bounds all files
 * together.
 */
const DOWNLOAD_TIMEOUT_MS = 15 * 60_000;

/** The type of the outputs that a model of a modality is paid for. */
const TYPE_OF: Readonly<Record<Modality, ArchivedOutput['type']>> = {
  image: 'image',
  video: 'video',
  audio: 'audio',
  transcription: 'text',
};

/** Settles a task whose outputs are archived; undefined: it did not, and a settlement has to follow. */
export type SettleArchived = (
  task: WorkingTask,
  outputs: readonly ArchivedOutput[],
) => Promise<SettleResult | undefined>;

/** Runs one attempt of the archiving. */
export async function archiveOutputs(
  context: GenerationContext,
  attempt: Attempt,
  input: ArchiveInput,
  settle: SettleArchived,
): Promise<ArchiveResult> {
  const begun = await begin(context, input);
  const { task } = begun;
  if (isTerminal(task.status)) return { kind: 'over' };
  // Contract §4: a task that was still handling when its cancel was accepted does not go on to archiving.
  if (task.status === 'handling' && task.isCancelRequested) throw permanentFailure('cancelled');
  const archived = await archiveTask(context, attempt, input, begun);
  if (archived.kind === 'over') return archived;
  const settled = await settle(task, archived.outputs);
  return settled === undefined ? archived : { ...archived, settled };
}

async function archiveTask(
  context: GenerationContext,
  attempt: Attempt,
  input: ArchiveInput,
  begun: BegunTask,
): Promise<ArchiveResult> {
  // An attempt inside the workflow's worker has 4 s and takes none of these slots; one that waits may follow it.
  if (attempt.isLocal) return archiveProduced(context, attempt, begun);
  return inTurn(context, attempt, begun.task, async () => {
    const task = await startArchiving(context.database, input.taskId, input.archivingSeconds);
    return isTerminal(task.status) ? { kind: 'over' } : archiveProduced(context, attempt, { ...begun, task });
  });
}

/** A database that has lost commits does not know that the task was started. */
async function begin({ database }: GenerationContext, input: ArchiveInput): Promise<BegunTask> {
  const begun = await beginArchiving(database, input.taskId);
  if (begun.task.status !== 'queued') return begun;
  await beginHandling(database, input.taskId, input.handlingSeconds);
  return beginArchiving(database, input.taskId);
}

/**
 * Archives a task when its account has a slot for it. The wait for a slot does not count as archiving time: work that
 * is paid for must not time out because other tasks, of other accounts or the same one, come first.
 */
async function inTurn(
  context: GenerationContext,
  { number }: Attempt,
  task: WorkingTask,
  archiveIt: () => Promise<ArchiveResult>,
): Promise<ArchiveResult> {
  const { archivingSlots, videoArchivingSlots } = context;
  const { modality } = await context.definitions.read(task.definitionHash);
  let isTurn = false;
  const inSlot = () =>
    archivingSlots.run(task.accountId, number, () => {
      isTurn = true;
      return archiveIt();
    });
  try {
    return await (modality === 'video' ? videoArchivingSlots.run(task.accountId, number, inSlot) : inSlot());
  } finally {
    // An earlier attempt had a slot and failed with a retryable error.
    if (!isTurn && task.archivingDeadlineAt !== null) await pauseArchiving(context.database, task.id);
  }
}

async function archiveProduced(context: GenerationContext, attempt: Attempt, begun: BegunTask): Promise<ArchiveResult> {
  const { task } = begun;
  const generation = await producedGeneration(context, attempt, begun);
  if (generation?.state !== 'produced' || generation.files.length === 0) throw permanentFailure('no_output');
  const { files, upstreamIndex } = generation;
  const formats = transcriptFormats(await context.definitions.read(task.definitionHash), task.input);
  const causes = { deadlineAt: task.archivingDeadlineAt, stopping: context.stopping };
  return runUntilStopped(attempt, causes, async (signal, { deadline }) => {
    const outputs: ArchivedOutput[] = [];
    for (const [position, file] of files.entries()) {
      const output = await archiveUnlessMissing(
        context,
        { attempt, task, upstreamIndex, position, file, formats },
        signal,
      );
      if (output !== undefined) outputs.push(output);
    }
    if (outputs.length === 0) throw permanentFailure('no_output');
    await assertRequestedType(context, task, outputs);
    // The requested outputs come first (contract §3).
    const frames: ArchivedOutput[] = [];
    for (const video of outputs.filter(({ type }) => type === 'video')) {
      const position = files.length + frames.length;
      const made = archiveFrames(context, attempt, task, video, position, signal);
      frames.push(...(await made.catch((error: unknown) => withoutFrames(context, task, deadline, error))));
    }
    return { kind: 'archived', outputs: [...outputs, ...frames] };
  });
}

/** @throws {GenerationFailure} none of the outputs is what the model is for: a placeholder, or an image of an error. */
async function assertRequestedType(
  { definitions, logger }: GenerationContext,
  task: WorkingTask,
  outputs: readonly ArchivedOutput[],
): Promise<void> {
  const { modality } = await definitions.read(task.definitionHash);
  const expected = TYPE_OF[modality];
  const found = [...new Set(outputs.map(({ type }) => type))];
  if (found.includes(expected)) return;
  logger.warn(
    { taskId: task.id, model: task.model, expected, found: found.join(', ') },
    'no output of the provider is of the type that the model is for',
  );
  throw permanentFailure('no_output');
}

/** A video whose frames could not be made in time is delivered without them, like one that cannot be decoded. */
function withoutFrames(
  { logger }: GenerationContext,
  { id: taskId }: WorkingTask,
  deadline: AbortSignal,
  error: unknown,
): readonly ArchivedOutput[] {
  if (!deadline.aborted) throw error;
  logger.warn({ taskId }, 'no time left for the frames of a video, which is delivered without them');
  return [];
}

/**
 * The files that were generated, even if the database has lost them: the workflow reaches this stage only after
 * generation.
 */
async function producedGeneration(
  context: GenerationContext,
  attempt: Attempt,
  { task, generation }: BegunTask,
): Promise<Generation | undefined> {
  if (generation?.state === 'produced') return generation;
  const recorded = await readGeneration(context.database, task.id);
  if (recorded?.state === 'produced') return recorded;
  const isJob = recorded?.state === 'submitted';
  await finishGeneration(context, attempt, task, isJob ? recorded : await generationOfThisRun(context, attempt, task));
  return readGeneration(context.database, task.id);
}

/** One file of a task's generation, and the task, upstream and position that it belongs to. */
interface Source {
  readonly attempt: Attempt;
  readonly task: WorkingTask;
  /** Index of the upstream that generated it. */
  readonly upstreamIndex: number;
  readonly position: number;
  readonly file: GeneratedFile;
  /** The formats of a transcript's files, by position; undefined: the files are media. */
  readonly formats: readonly TranscriptFormat[] | undefined;
}

/** A file counts as not delivered. The message says why; it contains nothing from the provider. */
class NotDeliveredError extends Error {
  override readonly name = 'NotDeliveredError';
}

/**
 * Contract §3: if a provider delivers only some of the files that it lists, those are delivered.
 *
 * @returns undefined if the file does not exist, or is none.
 */
async function archiveUnlessMissing(
  context: GenerationContext,
  source: Source,
  signal: AbortSignal,
): Promise<ArchivedOutput | undefined> {
  try {
    return await archive(context, source, signal);
  } catch (error) {
    if (!(error instanceof NotDeliveredError)) throw error;
    const { task, position, file } = source;
    const host = 'url' in file && URL.canParse(file.url) ? new URL(file.url).host : undefined;
    context.logger.warn(
      { taskId: task.id, model: task.model, position, host, problem: error.message },
      'provider listed a file that it does not deliver',
    );
    return undefined;
  }
}

async function archive(context: GenerationContext, source: Source, signal: AbortSignal): Promise<ArchivedOutput> {
  const { file } = source;
  const stored = 'key' in file ? file : await fetchInto(context, source, file.url, signal);
  if (source.formats !== undefined) return transcriptOutput(context, stored, source.formats[source.position]);
  try {
    const facts = await context.inspector.inspect(
      source.task.accountId,
      storedSource(context.store, stored.key, stored.sizeBytes),
    );
    if (facts.isEmpty === true) throw new NotDeliveredError('the file is empty');
    return {
      type: facts.kind,
      objectKey: stored.key,
      mimeType: facts.mimeType,
      sizeBytes: stored.sizeBytes,
      sha256: stored.sha256,
      ...(facts.width === undefined ? {} : { width: facts.width }),
      ...(facts.height === undefined ? {} : { height: facts.height }),
      ...(facts.durationSeconds === undefined ? {} : { durationSeconds: facts.durationSeconds }),
    };
  } catch (error) {
    if (error instanceof UnsupportedMediaError) throw new NotDeliveredError(error.message);
    throw error;
  }
}

/** @param format undefined: there are more files than formats. */
async function transcriptOutput(
  { store }: GenerationContext,
  { key, sizeBytes, sha256 }: StoredFile,
  format: TranscriptFormat | undefined,
): Promise<ArchivedOutput> {
  if (format === undefined) throw new NotDeliveredError('there are more files than formats');
  if (sizeBytes === 0) throw new NotDeliveredError(`the transcript has no times, which ${format} needs`);
  if (sizeBytes > MAX_TRANSCRIPT_BYTES) throw new NotDeliveredError('the file is too large for a transcript');
  const bytes = await storedSource(store, key, sizeBytes).read(0, sizeBytes);
  if (!isTranscript(bytes, format)) throw new NotDeliveredError(`it is no transcript of format ${format}`);
  return { type: 'text', objectKey: key, mimeType: mimeTypeOfFormat(format), sizeBytes, sha256 };
}

async function fetchInto(
  context: GenerationContext,
  source: Source,
  url: string,
  signal: AbortSignal,
): Promise<StoredFile> {
  const key = attemptKey(source.attempt, source.task.id, 'archived', source.position);
  try {
    const put = await context.store.put(key, await openFile(context, source, url, signal), {
      mimeType: 'application/octet-stream',
      maxBytes: MAX_OUTPUT_BYTES,
      signal,
    });
    return { key, ...put };
  } catch (error) {
    if (error instanceof ObjectTooLargeError) {
      throw new NotDeliveredError(`the file is larger than ${MAX_OUTPUT_BYTES} bytes`);
    }
    if (!(error instanceof EgressError)) throw error;
    throw isFinal(error) ? new NotDeliveredError(error.message) : retryableFailure('provider_unavailable');
  }
}

/** From the upstream itself if it serves the file on its own origin; from anywhere else through the guarded client. */
async function openFile(
  context: GenerationContext,
  { task, upstreamIndex }: Source,
  url: string,
  signal: AbortSignal,
): Promise<Readable> {
  const bounds = { timeoutMs: DOWNLOAD_TIMEOUT_MS, maxBytes: MAX_OUTPUT_BYTES, signal };
  const route = (await routesOf(context, task)).find((each) => each.upstreamIndex === upstreamIndex);
  const own = await route?.provider.download?.(route.request, url, bounds);
  if (own?.from === 'upstream') return own.body;
  const { body } = await context.egress.download(own?.url ?? url, { ...bounds, accountId: task.accountId });
  return body;
}

/**
 * Whether a retry is pointless: the provider named a file that it does not serve, a file that is far too large, or an
 * address that we never connect to, also when reached by a redirect.
 */
function isFinal({ kind, status, isBarred }: EgressError): boolean {
  return isBarred || kind === 'too_large' || (kind === 'status' && !isPassingStatus(status));
}

/** A server that is temporarily busy or failing: the archiving stage has time to retry. */
function isPassingStatus(status: number | undefined): boolean {
  return status !== undefined && (status >= 500 || status === 408 || status === 425 || status === 429);
}
