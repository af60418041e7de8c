/** The types of the JavaScript SDK are those of the API. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import type { WireModelDetail } from '@darkroom/api/tasks/model';
import type { CreateTaskBody } from '@darkroom/api/tasks/create-task';
import type { WireEstimate } from '@darkroom/api/tasks/estimate';
import type { WireEvent } from '@darkroom/api/tasks/event';
import type { WireFile } from '@darkroom/api/tasks/file';
import type { WireOutput, WireTask } from '@darkroom/api/tasks/task';
import type { WireTaskList } from '@darkroom/api/tasks/task-list';
import type {
  Estimate,
  ModelDetail,
  Output,
  Task,
  TaskEvent,
  TaskPage,
  TaskRequest,
  UploadedFile,
} from '@darkroom/sdk';
import { packageFile } from '../../src/config/package-root.ts';
import { JAVASCRIPT_TYPES, javascriptTypes } from './javascript-types.ts';
import { NAMED_SCHEMAS } from './named-schemas.ts';

it('are generated from the current schemas: npm run ts -- test/sdk/render-javascript-types.ts', async () => {
  assert.equal(readFileSync(packageFile(JAVASCRIPT_TYPES), 'utf8'), await javascriptTypes());
});

it('have every field of the schemas', () => {
  const text = readFileSync(packageFile(JAVASCRIPT_TYPES), 'utf8');
  for (const [name, schema] of Object.entries(NAMED_SCHEMAS)) {
    const fields = 'properties' in schema ? Object.keys(schema.properties as object) : [];
    const [, block = ''] =
      new RegExp(`^export (?:interface|type) ${name} ([\\s\\S]*?)^(?:\\}|export)`, 'm').exec(text) ?? [];
    const found = [...block.matchAll(/^ {2}(\w+)\??:/gm)].map(([, field = '']) => field);
    assert.deepEqual(found, fields, name);
  }
});

it('accept what the types of the API accept', () => {
  // Compiled, and never called: what one side calls a response, the other does too.
  const same = {
    output: (value: WireOutput): Output => value,
    task: ({ metadata: _metadata, input: _input, error: _error, callback: _callback, ...value }: WireTask): Task =>
      value,
    page: (value: WireTaskList): Omit<TaskPage, 'tasks'> => value,
    event: (value: WireEvent): TaskEvent => value,
    estimate: (value: WireEstimate): Estimate => value,
    file: (value: WireFile): UploadedFile => value,
    model: (value: WireModelDetail): Pick<ModelDetail, 'id' | 'modality' | 'input_schema'> => value,
    request: (value: TaskRequest): CreateTaskBody => value,
  };
  assert.equal(Object.keys(same).length, 8);
});
