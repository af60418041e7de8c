/** What is wrong with a request, for programs; the message is for people. */
import { Type } from 'typebox';

export const ViolationSchema = Type.Object(
  {
    message: Type.String({ description: 'A readable message. It also names the field.' }),
    problem: Type.Optional(
      Type.String({ description: 'The message without the field, to be shown at the field. Absent if there is none.' }),
    ),
    field: Type.String({
      description:
        'The position of the field in the request, for example `input.image_urls.2`. Empty for the whole request.',
    }),
    keyword: Type.String({ description: 'The violated JSON Schema keyword, or a rule such as `url` or `unique`.' }),
  },
  { additionalProperties: false },
);
