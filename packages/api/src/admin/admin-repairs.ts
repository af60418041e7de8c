/** The repair as operators see it: what it is dealing with now, how much it did, and each of its repairs. */
import { Type } from 'typebox';
import type { TaskStatus } from '../facts/task-status.ts';
import { TASK_STATUSES } from '../facts/task-status.ts';
import type { RepairKind } from '../facts/repair-kind.ts';
import { REPAIR_KINDS } from '../facts/repair-kind.ts';
import { MAX_REPAIR_RECORDS, MAX_TASKS_NEEDING_REPAIR, REPAIR_RETENTION_DAYS } from '../facts/limits.ts';
import type { Static } from 'typebox';
import { UnixSeconds } from '../tasks/fields.ts';

const Status = Type.Unsafe<TaskStatus>({ type: 'string', enum: [...TASK_STATUSES] });

const Kind = Type.Unsafe<RepairKind>({
  type: 'string',
  enum: [...REPAIR_KINDS],
  description:
    '`settled`: its workflow had ended without settling it. `timed_out`: it was past its deadline. `restarted`: it had no workflow. `callback`: its callback was overdue, and was requested again.',
});

const TaskNeedingRepairSchema = (at: string) =>
  Type.Object(
    {
      taskId: Type.String(),
      accountId: Type.String(),
      model: Type.String(),
      status: Status,
      at: Type.Integer({ minimum: 0, description: `Unix seconds: ${at}` }),
    },
    { additionalProperties: false },
  );

export const RepairSummarySchema = Type.Object(
  {
    overdue: Type.Array(TaskNeedingRepairSchema('the deadline of its stage.'), {
      maxItems: MAX_TASKS_NEEDING_REPAIR,
      description: 'Tasks past a deadline and not ended; a minute of it is usual. The longest overdue first.',
    }),
    restarted: Type.Array(TaskNeedingRepairSchema('when it was last started again.'), {
      maxItems: MAX_TASKS_NEEDING_REPAIR,
      description: 'Tasks that are not over and had lost their workflow. Newest first.',
    }),
    done: Type.Array(
      Type.Object(
        {
          kind: Kind,
          day: Type.Integer({ minimum: 0, description: 'In the last 24 hours.' }),
          month: Type.Integer({ minimum: 0, description: `In the last ${REPAIR_RETENTION_DAYS} days.` }),
        },
        { additionalProperties: false },
      ),
      {
        maxItems: REPAIR_KINDS.length,
        description: `The repairs of all processes, one entry for each kind; of the last ${MAX_REPAIR_RECORDS} repairs.`,
      },
    ),
  },
  { additionalProperties: false },
);

export type WireRepairSummary = Static<typeof RepairSummarySchema>;

export const RepairListQuerySchema = Type.Object(
  {
    cursor: Type.Optional(
      Type.String({ minLength: 1, maxLength: 200, description: '`nextCursor` of the page before.' }),
    ),
    size: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, 'x-clamped': true, description: 'Repairs on a page; default 20.' }),
    ),
    kind: Type.Optional(
      Type.Array(Kind, { minItems: 1, maxItems: 10, description: 'Repeated, or separated by commas: any of them.' }),
    ),
  },
  { additionalProperties: false },
);

export const RepairListSchema = Type.Object(
  {
    size: Type.Integer({ minimum: 1, maximum: 100 }),
    repairs: Type.Array(
      Type.Object(
        {
          id: Type.String(),
          at: UnixSeconds,
          kind: Kind,
          taskId: Type.String(),
          found: Type.Optional(
            Type.Unsafe<TaskStatus>({
              type: 'string',
              enum: [...TASK_STATUSES],
              description: 'What the task was found as; absent where it was about its callback.',
            }),
          ),
          accountId: Type.Optional(Type.String({ description: 'Absent: the task is not there any more.' })),
          model: Type.Optional(Type.String({ description: 'Likewise.' })),
        },
        { additionalProperties: false },
      ),
      { maxItems: 100, description: 'Newest first.' },
    ),
    nextCursor: Type.Optional(Type.String({ description: 'Gives the next page; absent on the last one.' })),
  },
  { additionalProperties: false },
);

export type WireRepairList = Static<typeof RepairListSchema>;
