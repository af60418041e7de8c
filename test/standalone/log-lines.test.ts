import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { shortenLogLine } from '../../src/standalone/logs.ts';

describe('what the terminal shows of the logs', () => {
  it('shows our warnings and errors in one short line, and nothing less', () => {
    assert.equal(
      shortenLogLine('api', '{"level":40,"msg":"slow","err":{"message":"a reason"}}'),
      'api: slow (a reason)',
    );
    assert.equal(shortenLogLine('worker', '{"level":50,"msg":"broken"}'), 'worker: broken');
    assert.equal(shortenLogLine('api', '{"level":30,"msg":"routine"}'), undefined);
  });

  it("shows Temporal's errors, not its many warnings", () => {
    assert.equal(shortenLogLine('temporal', '{"level":"ERROR","msg":"bad","error":"why"}'), 'temporal: bad (why)');
    assert.equal(shortenLogLine('temporal', '{"level":"WARN","msg":"Failed to poll for task."}'), undefined);
    assert.equal(shortenLogLine('temporal', 'Temporal UI: http://localhost:8233'), undefined);
  });

  it("shows what concerns PostgreSQL itself, not its clients' mistakes", () => {
    const at = '2026-01-01 10:00:00.000 UTC [1]';
    assert.equal(shortenLogLine('postgres', `${at} PANIC:  no space`), `postgres: ${at} PANIC:  no space`);
    assert.equal(shortenLogLine('postgres', `${at} FATAL:  out of memory`), `postgres: ${at} FATAL:  out of memory`);
    assert.equal(shortenLogLine('postgres', `${at} FATAL:  the database system is starting up`), undefined);
    const early = `${at} FATAL:  the database system is not yet accepting connections`;
    assert.equal(shortenLogLine('postgres', early), undefined);
    assert.equal(shortenLogLine('postgres', `${at} ERROR:  duplicate key`), undefined);
    assert.equal(shortenLogLine('postgres', `${at} LOG:  checkpoint`), undefined);
  });

  it('shows what a process of ours writes outside its log, such as a crash', () => {
    assert.equal(shortenLogLine('api', 'TypeError: x is not a function'), 'api: TypeError: x is not a function');
    assert.equal(shortenLogLine('api', ''), undefined);
  });
});
