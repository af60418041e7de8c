/** The endpoints of text models whose requests may be lines of a batch. */
import { requireModel, requireScope } from '../../accounts/authenticate.ts';
import type { TextEndpoint } from '../../batches/context.ts';
import { isRecord } from '../../domain/json-members.ts';
import { checkChatBody } from '../../text/chat/decode-request.ts';
import { checkResponsesBody } from '../../text/responses/decode-request.ts';
import type { TextSurface } from '../../text/source.ts';
import { InvalidTextRequest } from '../../text/text-failure.ts';
import type { HttpContext } from '../app/context.ts';
import { rejected } from '../media-calls/line-rejection.ts';

/** What is about the connection of a request, which a line does not have. */
const MEMBERS_OF_A_CONNECTION = ['stream', 'background'] as const;

export function textLines(http: HttpContext, surface: TextSurface): TextEndpoint {
  return {
    kind: 'text',
    surface,
    check(caller, body) {
      requireScope(caller, 'text:write');
      const fields = isRecord(body) ? body : {};
      for (const name of MEMBERS_OF_A_CONNECTION) {
        if (fields[name] === true) throw unsupported(name);
      }
      const { model } = surface === 'chat' ? checkChatBody(fields) : checkResponsesBody(fields);
      requireModel(caller, http.catalogue.resolveText(model).name);
    },
    reject: rejected,
  };
}

function unsupported(name: string): InvalidTextRequest {
  return new InvalidTextRequest(name, `${name}: a line of a batch has none; leave it out`, 'unsupported_value');
}
