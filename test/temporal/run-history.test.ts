/** What is read from the history of a run, using recorded histories and some that are written here. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import type { WorkflowHandle } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { packageFile } from '../../src/config/package-root.ts';
import { TASK_NOT_FOUND, isPlainJobId } from '../../src/domain/run-record.ts';
import { readRunHistory } from '../../src/temporal/run-history.ts';

type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;

async function recorded(name: string): Promise<ReturnType<typeof readRunHistory>> {
  const text = await readFile(packageFile(`test/histories/${name}.json`), 'utf8');
  return readRunHistory(historyFromJSON(JSON.parse(text)));
}

function payloads(value: unknown): object {
  return { payloads: [defaultPayloadConverter.toPayload(value)] };
}

/** The events of a run whose activities returned these results, and which closed in this way. */
function historyOf(
  activities: readonly (readonly [name: string, ended: object])[],
  close: object = {},
  input: object = {},
): History {
  const events: object[] = [{ eventId: 1, workflowExecutionStartedEventAttributes: { input: payloads(input) } }];
  for (const [name, ended] of activities) {
    const scheduledEventId = events.length + 1;
    events.push({ eventId: scheduledEventId, activityTaskScheduledEventAttributes: { activityType: { name } } });
    const [[kind, attributes] = ['', {}]] = Object.entries(ended) as [string, object][];
    if (kind !== '') events.push({ eventId: events.length + 1, [kind]: { ...attributes, scheduledEventId } });
  }
  events.push({ eventId: events.length + 1, ...close });
  return { events };
}

const answered = (value: unknown): object => ({ activityTaskCompletedEventAttributes: { result: payloads(value) } });
const failedWith = (type: string, detail?: object): object => ({
  activityTaskFailedEventAttributes: {
    failure: { applicationFailureInfo: { type, ...(detail === undefined ? {} : { details: payloads(detail) }) } },
  },
});
const endedWith = (type: string): object => ({
  workflowExecutionFailedEventAttributes: { failure: { applicationFailureInfo: { type } } },
});

describe('the history of a run', () => {
  it('has its result and the files that it had archived', async () => {
    const { outcome, files, mayHaveSubmitted } = await recorded('success');

    assert.deepEqual(outcome, { status: 'success' });
    assert.equal(mayHaveSubmitted, true);
    assert.equal(files?.length, 1);
    assert.match(files[0]?.key ?? '', /^outputs\/.*-generated-/);
    assert.ok((files[0]?.sizeBytes ?? 0) > 1_000_000);
  });

  it('has the reason of its failure', async () => {
    const outcomes = await Promise.all(
      ['provider-failure', 'outcome-unknown', 'cancel'].map(async (name) => (await recorded(name)).outcome),
    );

    assert.deepEqual(outcomes, [
      { status: 'fail', reason: 'provider_error' },
      { status: 'fail', reason: 'outcome_unknown' },
      { status: 'fail', reason: 'cancelled' },
    ]);
  });

  it('has the job that it had when it was cancelled', async () => {
    const { job, mayHaveSubmitted } = await recorded('cancel-with-job');

    assert.equal(job?.upstreamIndex, 0);
    assert.match(job.jobId, /^tk-svc-/);
    assert.equal(mayHaveSubmitted, true);
  });

  it('has no job if its id is not plain enough to be recorded', () => {
    const submitted = answered({ kind: 'job', upstreamIndex: 1 });
    const { job, mayHaveSubmitted, upstreamIndex } = readRunHistory(historyOf([['submitGeneration', submitted]]));

    assert.deepEqual([job, mayHaveSubmitted, upstreamIndex], [undefined, true, 1]);
  });

  it('has the job, its upstream and its request', () => {
    const submitted = answered({ kind: 'job', jobId: 'job-7', upstreamIndex: 2, requestHash: 'abcd' });
    const record = readRunHistory(
      historyOf([['submitGeneration', submitted]], endedWith(TASK_NOT_FOUND), { earlierRunId: 'run-1' }),
    );

    assert.deepEqual(record, {
      outcome: undefined,
      files: undefined,
      job: { jobId: 'job-7', upstreamIndex: 2 },
      hasBegun: true,
      mayHaveSubmitted: true,
      upstreamIndex: 2,
      requestHash: 'abcd',
      earlierRunId: 'run-1',
    });
  });

  it('has no job after one that failed and is not billed, but the next one', () => {
    const first = ['submitGeneration', answered({ kind: 'job', jobId: 'job-1', upstreamIndex: 0 })] as const;
    const failed = ['awaitGeneration', answered({ kind: 'failed' })] as const;
    const about = (...more: Parameters<typeof historyOf>[0]): readonly unknown[] => {
      const { job, mayHaveSubmitted, upstreamIndex, hasBegun } = readRunHistory(historyOf([first, failed, ...more]));
      return [job, mayHaveSubmitted, upstreamIndex, hasBegun];
    };

    assert.deepEqual(about(), [undefined, false, undefined, true]);
    // It was sent, or not, to an upstream that is not known.
    assert.deepEqual(about(['submitGeneration', {}]), [undefined, true, undefined, true]);
    const second = ['submitGeneration', answered({ kind: 'job', jobId: 'job-2', upstreamIndex: 1 })] as const;
    assert.deepEqual(about(second), [{ jobId: 'job-2', upstreamIndex: 1 }, true, 1, true]);
    assert.deepEqual(about(second, failed), [undefined, false, undefined, true]);
  });

  it('has its request, and whether it reached submitting, also when the submit failed', () => {
    const input = { requestHash: 'abcd' };
    const rejected = ['submitGeneration', failedWith('content_rejected')] as const;
    const about = (history: History): readonly unknown[] => {
      const { hasBegun, requestHash } = readRunHistory(history);
      return [hasBegun, requestHash];
    };

    assert.deepEqual(about(historyOf([rejected], endedWith('content_rejected'), input)), [true, 'abcd']);
    assert.deepEqual(about(historyOf([rejected], endedWith('content_rejected'))), [true, undefined]);
    assert.deepEqual(about(historyOf([], {}, input)), [false, 'abcd']);
  });

  it('omits the frames that are extracted from a video', () => {
    const stored = { sizeBytes: 3, sha256: 'ab', mimeType: 'video/mp4' };
    const archived = answered({
      kind: 'archived',
      outputs: [
        { ...stored, type: 'video', objectKey: 'a' },
        { ...stored, type: 'thumbnail', objectKey: 'b' },
      ],
    });

    const { files } = readRunHistory(historyOf([['archiveOutputs', archived]]));

    assert.deepEqual(files, [{ key: 'a', sizeBytes: 3, sha256: 'ab' }]);
  });

  it('shows whether anything may have been sent before the task was found to be lost', () => {
    const mayHave = (ended: object): readonly unknown[] => {
      const { mayHaveSubmitted, upstreamIndex } = readRunHistory(
        historyOf([['submitGeneration', ended]], endedWith(TASK_NOT_FOUND)),
      );
      return [mayHaveSubmitted, upstreamIndex];
    };

    assert.deepEqual(mayHave(failedWith(TASK_NOT_FOUND)), [false, undefined]);
    assert.deepEqual(mayHave(failedWith(TASK_NOT_FOUND, {})), [false, undefined]);
    assert.deepEqual(mayHave(failedWith(TASK_NOT_FOUND, { upstreamIndex: 1 })), [true, 1]);
    // Terminated from outside in the middle of it.
    assert.deepEqual(mayHave({}), [true, undefined]);
    assert.deepEqual(mayHave(answered({ kind: 'over' })), [false, undefined]);
  });

  it('shows that nothing was sent while it waited for its upstream, and that something may have been afterwards', () => {
    const waiting = ['submitGeneration', answered({ kind: 'waiting', waitMs: 60_000 })] as const;

    assert.equal(readRunHistory(historyOf([waiting])).mayHaveSubmitted, false);
    assert.equal(readRunHistory(historyOf([waiting, waiting])).mayHaveSubmitted, false);
    assert.equal(readRunHistory(historyOf([waiting, ['submitGeneration', {}]])).mayHaveSubmitted, true);
    const gone = ['submitGeneration', failedWith(TASK_NOT_FOUND)] as const;
    assert.equal(readRunHistory(historyOf([waiting, gone], endedWith(TASK_NOT_FOUND))).mayHaveSubmitted, false);
    const sent = ['submitGeneration', answered({ kind: 'job', jobId: 'one', upstreamIndex: 0 })] as const;
    assert.equal(readRunHistory(historyOf([waiting, sent])).mayHaveSubmitted, true);
  });

  it('has the reason of the failure when the task was lost before that was settled', () => {
    const { outcome } = readRunHistory(
      historyOf(
        [
          ['submitGeneration', failedWith('content_rejected')],
          ['settleTask', failedWith(TASK_NOT_FOUND)],
        ],
        endedWith(TASK_NOT_FOUND),
      ),
    );

    assert.deepEqual(outcome, { status: 'fail', reason: 'content_rejected' });
  });

  it('has the bill of a cancelled task', () => {
    const close = { workflowExecutionCanceledEventAttributes: {} };
    const { outcome } = readRunHistory(
      historyOf([['cancelGeneration', answered({ outcome: 'too_late', billedUsd: '0.004', finishedFiles: 2 })]], close),
    );

    assert.deepEqual(outcome, { status: 'fail', reason: 'cancelled', billedUsd: '0.004', finishedFiles: 2 });
  });

  it('is read from the settlement when an operator ended the run after it', () => {
    const { outcome } = readRunHistory(
      historyOf([['settleTask', answered({ status: 'success', reason: null })]], {
        workflowExecutionTerminatedEventAttributes: {},
      }),
    );

    assert.deepEqual(outcome, { status: 'success' });
  });

  it('is read from the archiving that has settled, when an operator ended the run after it', () => {
    const closed = { workflowExecutionTerminatedEventAttributes: {} };
    const outcomes = [{ status: 'success', reason: null }, { status: 'fail', reason: 'timed_out' }, undefined].map(
      (settled) =>
        readRunHistory(historyOf([['archiveOutputs', answered({ kind: 'archived', outputs: [], settled })]], closed))
          .outcome,
    );

    assert.deepEqual(outcomes, [{ status: 'success' }, { status: 'fail', reason: 'timed_out' }, undefined]);
  });
});

describe('the id of a job', () => {
  it('is stored in a history unless it could be a URL', () => {
    for (const id of ['tk-svc-01', 'replicate:abc_DEF.1', 'x'.repeat(200)]) assert.equal(isPlainJobId(id), true, id);
    for (const id of ['https://a.example/1', 'a/b', 'a b', '', 'x'.repeat(201)])
      assert.equal(isPlainJobId(id), false, id);
  });
});
