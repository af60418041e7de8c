/** What the files of a batch consist of (contract §10): a request or its result in each line. */
import { Type } from 'typebox';

const CustomId = 'The name of the request, unique in the file. Its result has the same.';

export const BatchLineSchema = Type.Object(
  {
    custom_id: Type.String({ minLength: 1, description: CustomId }),
    body: Type.Record(Type.String(), Type.Unknown(), { description: 'The body of the request.' }),
  },
  {
    additionalProperties: false,
    description: 'A request of a batch. `method` and `url` of its line are those of the batch.',
  },
);

const LineResponse = Type.Object(
  {
    status_code: Type.Integer({ description: 'The status that a request of its own would have got.' }),
    request_id: Type.String({ description: 'The id of the task, if there is one.' }),
    body: Type.Record(Type.String(), Type.Unknown(), {
      description: 'The body that a request of its own would have got.',
    }),
  },
  { description: 'Null: the request had no turn.' },
);

const LineError = Type.Object(
  { code: Type.String(), message: Type.String() },
  { description: 'Why the request had no turn: the batch was cancelled, or has expired.' },
);

export const BatchResultSchema = Type.Object(
  {
    id: Type.String(),
    custom_id: Type.Union([Type.String(), Type.Null()], { description: 'Null: the line had none.' }),
    response: Type.Union([LineResponse, Type.Null()]),
    error: Type.Union([LineError, Type.Null()]),
  },
  { description: 'What became of a request of a batch.' },
);
