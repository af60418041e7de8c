/** What is wrong with a request, beside the message for people. */
import { Type } from 'typebox';

export const ViolationSchema = Type.Object(
  {
    message: Type.String({ description: 'For people; it names the field too.' }),
    field: Type.String({ description: 'Its position in the request: `input.image_urls.2`; empty for all of it.' }),
    keyword: Type.String({ description: 'The violated keyword of JSON Schema, or a rule such as `url` or `unique`.' }),
  },
  { additionalProperties: false },
);
