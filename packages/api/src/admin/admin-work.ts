/** The tasks and text calls of all accounts, as operators list them: without what was sent and what came back. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { TASK_STATUSES } from '../facts/task-status.ts';
import type { TaskStatus } from '../facts/task-status.ts';
import { Currency, UnixSeconds, unixSecondsOrZero, usd } from '../tasks/fields.ts';

/** The states of a text call. `gone`: its client disconnected; `unknown`: its process ended before it did. */
export const TEXT_CALL_STATUSES = ['in_progress', 'answered', 'gone', 'failed', 'unknown'] as const;
export type TextCallStatus = (typeof TEXT_CALL_STATUSES)[number];

export const WORK_KINDS = ['task', 'text_call'] as const;
export type WorkKind = (typeof WORK_KINDS)[number];

export const WORK_STATUSES = [...TASK_STATUSES, ...TEXT_CALL_STATUSES] as const;
export type WorkStatus = TaskStatus | TextCallStatus;

const Kind = Type.Unsafe<WorkKind>({ type: 'string', enum: [...WORK_KINDS] });
const Status = Type.Unsafe<WorkStatus>({ type: 'string', enum: [...WORK_STATUSES] });
const Word = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 300, description }));
const Time = (description: string) => Type.Optional(Type.Integer({ minimum: 0, maximum: 9_999_999_999, description }));

export const MAX_WORK_PAGE = 100;

export const WorkListQuerySchema = Type.Object(
  {
    kind: Type.Optional(
      Type.Unsafe<WorkKind>({ type: 'string', enum: [...WORK_KINDS], description: 'Default `task`.' }),
    ),
    status: Type.Optional(
      Type.Array(Status, {
        minItems: 1,
        maxItems: WORK_STATUSES.length,
        uniqueItems: true,
        description:
          'Any of these, separated by commas. Tasks are `queued`, `handling`, `archiving`, `success` or `fail`; text calls are `in_progress`, `answered`, `gone` (the client disconnected), `failed` or `unknown` (the process ended before the call did).',
      }),
    ),
    model: Word('The name of the model.'),
    upstream: Word('The upstream that had the work, or rejected it last.'),
    accountId: Word('The ID of the account.'),
    keyId: Word('The ID of the API key. What its short-lived tokens and its dashboard sessions created is included.'),
    user: Word('The end user: `metadata.user` of a task, and `safety_identifier` or else `user` of a text call.'),
    reason: Word('Why it failed: the `reason` of a task or a text call.'),
    created_after: Time('Unix seconds, inclusive.'),
    created_before: Time('Unix seconds, exclusive.'),
    size: Type.Optional(
      Type.Integer({ minimum: 1, maximum: MAX_WORK_PAGE, description: 'The maximum number of entries. Default 50.' }),
    ),
    cursor: Type.Optional(
      Type.String({ minLength: 1, maxLength: 200, description: 'The `nextCursor` of the previous page.' }),
    ),
  },
  { additionalProperties: false },
);

export type WireWorkListQuery = Static<typeof WorkListQuerySchema>;

export const WorkListSchema = Type.Object(
  {
    currency: Currency,
    work: Type.Array(
      Type.Object(
        {
          kind: Kind,
          id: Type.String({ description: 'The ID of the task or the text call.' }),
          accountId: Type.String(),
          keyId: Type.String(),
          model: Type.String(),
          status: Status,
          reason: Type.Optional(Type.String({ description: 'Why it failed. Absent if it did not fail.' })),
          upstream: Type.Optional(
            Type.String({
              description:
                'The upstream that had the work, or rejected it last. Absent if none did, or if that is not recorded.',
            }),
          ),
          created: UnixSeconds,
          ended: unixSecondsOrZero('not yet.'),
          held: usd('The amount that is held for it. 0 once it has ended.'),
          captured: usd('Its cost. 0 until it has ended.'),
        },
        { additionalProperties: false },
      ),
      { maxItems: MAX_WORK_PAGE, description: 'Newest first.' },
    ),
    nextCursor: Type.Optional(
      Type.String({
        description:
          'Present if there may be more. A page reads a bounded number of entries, and may have fewer than `size`, or none, although there are more.',
      }),
    ),
  },
  { additionalProperties: false },
);

export type WireWorkList = Static<typeof WorkListSchema>;
