/**
 * The body of `POST /tasks` (spec §2.1, contract §2). `model`, `input`, `callback` and `route` are the specification's;
 * `storage` names its unnamed tier parameter; `metadata`, `maxCost` and `timeoutSeconds` are additive.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';

export const CreateTaskSchema = Type.Object(
  {
    model: Type.String({
      minLength: 1,
      maxLength: 300,
      description:
        'The model name, as returned by `GET /v1/models`. Case-sensitive. The older format `<model>@<route>` is also accepted.',
      examples: ['darkroom/scene'],
    }),
    input: Type.Record(Type.String(), Type.Unknown(), {
      description: "The input of the model. Its fields are defined by the model's own schema (`GET /v1/models/{id}`).",
      examples: [{ prompt: 'A red lighthouse on a cliff at sunset', resolution: '2k' }],
    }),
    callback: Type.Optional(
      Type.Object(
        {
          url: Type.String({
            minLength: 1,
            maxLength: 2048,
            description:
              'A public HTTPS URL. It receives a POST when the task has ended, and must respond with 2xx within 10 s.',
            examples: ['https://example.com/hooks/darkroom'],
          }),
          when: Type.Optional(
            Type.Unsafe<'final'>({
              type: 'string',
              enum: ['final'],
              description: 'When the callback is sent. Must be `final`, the default.',
            }),
          ),
        },
        { additionalProperties: false, description: 'Where to send the result. If omitted, poll the task.' },
      ),
    ),
    route: Type.Optional(
      Type.String({
        maxLength: 64,
        description:
          'The route to use, for models with several routes. If omitted, `""` or `default`, the default route is used.',
        examples: ['default'],
      }),
    ),
    storage: Type.Optional(
      Type.Unsafe<'temp' | 'persistent'>({
        type: 'string',
        enum: ['temp', 'persistent'],
        description:
          'How long the outputs are stored. `temp`, the default: for 7 days. `persistent`: until they are deleted.',
      }),
    ),
    metadata: Type.Optional(
      // Not Type.Record: it drops the bounds of the key and lets a name with a line break hold any value.
      Type.Unsafe<Record<string, string>>({
        type: 'object',
        maxProperties: 16,
        propertyNames: { type: 'string', minLength: 1, maxLength: 64 },
        additionalProperties: { type: 'string', maxLength: 512 },
        description: 'Your own key-value pairs. They are returned with the task, and lists can be filtered by them.',
        examples: [{ order: '7', customer: 'Müller' }],
      }),
    ),
    maxCost: Type.Optional(
      Type.String({
        pattern: '^[0-9]{1,12}(\\.[0-9]{1,6})?$',
        description: 'The maximum cost, in decimal USD. The request is rejected if its worst-case cost is higher.',
        examples: ['0.05'],
      }),
    ),
    timeoutSeconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 604_800,
        description:
          "The time limit of the task, counted from the start of handling. It cannot exceed the model's own limit.",
        examples: [120],
      }),
    ),
  },
  { additionalProperties: false },
);

export type CreateTaskBody = Static<typeof CreateTaskSchema>;

/** The `data` of the response (spec §2.2). */
export const CreatedTaskSchema = Type.Object(
  { taskId: Type.String({ pattern: '^tk-svc-[0-9A-HJKMNP-TV-Z]{26}$' }) },
  { additionalProperties: false },
);
