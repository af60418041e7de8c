/** The repair as operators see it: what it is dealing with now, how much it did, and each of its repairs. */
import { Type } from 'typebox';
import type { TaskStatus } from '../facts/task-status.ts';
import { TASK_STATUSES } from '../facts/task-status.ts';
import type { RepairKind } from '../facts/repair-kind.ts';
import { REPAIR_KINDS } from '../facts/repair-kind.ts';
import { MAX_REPAIR_RECORDS, MAX_TASKS_NEEDING_REPAIR, REPAIR_RETENTION_DAYS } from '../facts/limits.ts';
import type { Static } from 'typebox';
import { UnixSeconds, pageQuery } from '../tasks/fields.ts';

const Status = Type.Unsafe<TaskStatus>({ type: 'string', enum: [...TASK_STATUSES] });

const Kind = Type.Unsafe<RepairKind>({
  type: 'string',
  enum: [...REPAIR_KINDS],
  description:
    '`settled`: the workflow had ended without settling the task. `timed_out`: the task was past its deadline. `restarted`: the task had no workflow. `callback`: the callback was overdue and was requested again.',
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
      description:
        'Tasks that are past a deadline and have not ended, the longest overdue first. Up to a minute is normal.',
    }),
    restarted: Type.Array(TaskNeedingRepairSchema('when the task was last restarted.'), {
      maxItems: MAX_TASKS_NEEDING_REPAIR,
      description: 'Tasks that have not ended and had lost their workflow, newest first.',
    }),
    done: Type.Array(
      Type.Object(
        {
          kind: Kind,
          day: Type.Integer({ minimum: 0, description: 'The number of repairs in the last 24 hours.' }),
          month: Type.Integer({
            minimum: 0,
            description: `The number of repairs in the last ${REPAIR_RETENTION_DAYS} days.`,
          }),
        },
        { additionalProperties: false },
      ),
      {
        maxItems: REPAIR_KINDS.length,
        description: `The number of repairs of all processes, one entry for each kind, among the last ${MAX_REPAIR_RECORDS} repairs.`,
      },
    ),
  },
  { additionalProperties: false },
);

export type WireRepairSummary = Static<typeof RepairSummarySchema>;

export const RepairListQuerySchema = Type.Object(
  {
    ...pageQuery('repairs', 200),
    kind: Type.Optional(
      Type.Array(Kind, {
        minItems: 1,
        maxItems: 10,
        description: 'Only repairs of any of these kinds. Repeat the parameter or separate values by commas.',
      }),
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
              description: 'The status of the task when the repair found it. Absent for a repair of its callback.',
            }),
          ),
          accountId: Type.Optional(Type.String({ description: 'Absent if the task no longer exists.' })),
          model: Type.Optional(Type.String({ description: 'Absent if the task no longer exists.' })),
        },
        { additionalProperties: false },
      ),
      { maxItems: 100, description: 'The repairs, newest first.' },
    ),
    nextCursor: Type.Optional(
      Type.String({ description: 'Pass it as `cursor` to get the next page. Absent on the last page.' }),
    ),
  },
  { additionalProperties: false },
);

export type WireRepairList = Static<typeof RepairListSchema>;
