/**
 * Checks responses against the service's own OpenAPI document: status, headers and body of a real response must match
 * the document, and the observed kinds are recorded, so that a walk can report which it has not shown.
 */
import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { Ajv2020 } from 'ajv/dist/2020.js';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Operation {
  readonly operationId: string;
  /** In capitals. */
  readonly method: string;
  /** `/v1/tasks/{taskId}`. */
  readonly path: string;
  readonly responses: Readonly<Record<string, Response>>;
}

interface Response {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, Header>>;
  readonly content?: Readonly<Record<string, { readonly schema?: object }>>;
}

interface Header {
  readonly $ref?: string;
  readonly required?: boolean;
  readonly schema?: { readonly type?: string };
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Omit<Operation, 'method' | 'path'>>>>>;
}

interface ErrorCodeProperty {
  readonly error_code?: { readonly enum?: readonly string[] };
}

/** The schema of an error response: any failure, and its error code. */
interface ErrorSchema {
  readonly allOf?: readonly {
    readonly properties?: ErrorCodeProperty & {
      /** In the form of JSON-RPC. */
      readonly error?: { readonly properties?: { readonly data?: { readonly properties?: ErrorCodeProperty } } };
    };
  }[];
}

const DOCUMENT_ID = 'https://example.test/openapi.json';

export class DocumentedApi {
  readonly operations: ReadonlyMap<string, Operation>;
  /** `createTask 400 INVALID_REQUEST`, `getTask 200`: every kind of response that was checked. */
  readonly seen = new Set<string>();
  readonly #document: Document;
  // The document has keywords besides JSON Schema, which ajv ignores.
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });

  constructor(document: object) {
    this.#document = document as Document;
    this.#ajv.addSchema({ ...document, $id: DOCUMENT_ID });
    this.operations = new Map(
      Object.entries(this.#document.paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => [
          operation.operationId,
          { ...operation, method: method.toUpperCase(), path },
        ]),
      ),
    );
  }

  operation(operationId: string): Operation {
    const operation = this.operations.get(operationId);
    assert.ok(operation, `the document has no operation ${operationId}`);
    return operation;
  }

  /** Every kind of response that the document promises, in the format of `seen`. */
  promised(): readonly string[] {
    return [...this.operations.values()].flatMap(({ operationId, responses }) =>
      Object.entries(responses).flatMap(([status, response]) => {
        const codes = this.#errorCodes(response);
        if (codes.length === 0) return [`${operationId} ${status}`];
        return codes.map((code) => `${operationId} ${status} ${code}`);
      }),
    );
  }

  /** @throws {AssertionError} the response does not match the document. @param isHead if true, no body is expected. */
  check(operationId: string, answer: Answer, isHead = false): void {
    const { method, path, responses } = this.operation(operationId);
    const where = `${method} ${path} → ${answer.status}`;
    const response = responses[answer.status];
    assert.ok(response, `${where} is not in the document: ${answer.text.slice(0, 300)}`);
    const { headers = {}, content = {} } = this.#resolved(response);
    for (const [name, header] of Object.entries(headers)) this.#checkHeader(where, name, header, answer);
    if (!isHead) this.#checkBody(where, content, answer);
    const code = answer.status >= 400 ? errorCode(answer.text) : undefined;
    this.seen.add([operationId, answer.status, code].filter(Boolean).join(' '));
  }

  #checkHeader(where: string, name: string, header: Header, answer: Answer): void {
    const { required = false, schema = {} } = this.#resolved(header);
    const value = answer.headers[name.toLowerCase()];
    if (value === undefined) {
      assert.ok(!required, `${where}: the header ${name} is missing`);
      return;
    }
    const isInteger = schema.type === 'integer' && /^-?\d+$/.test(String(value));
    this.#validate(`${where}: ${name}`, schema, isInteger ? Number(value) : value);
  }

  #checkBody(where: string, content: NonNullable<Response['content']>, answer: Answer): void {
    const types = Object.keys(content);
    if (types.length === 0) {
      assert.equal(answer.text, '', `${where} has a body`);
      return;
    }
    const type = String(answer.headers['content-type']).split(';')[0]?.trim() ?? '';
    const matching = types.find((each) => each === type || (each.endsWith('/*') && type.startsWith(each.slice(0, -1))));
    assert.ok(matching, `${where}: content type ${type}, and the document has ${types.join(', ')}`);
    const schema = content[matching]?.schema;
    if (schema !== undefined) this.#validate(where, schema, JSON.parse(answer.text));
  }

  #validate(where: string, schema: object, value: unknown): void {
    const validate = this.#ajv.compile(absolute(schema));
    assert.ok(
      validate(value),
      `${where}: ${this.#ajv.errorsText(validate.errors)}\n${JSON.stringify(value)?.slice(0, 1_000)}`,
    );
  }

  #errorCodes(response: Response): readonly string[] {
    const schema: ErrorSchema | undefined = this.#resolved(response).content?.['application/json']?.schema;
    const { error_code: inEnvelope, error } = schema?.allOf?.[1]?.properties ?? {};
    return inEnvelope?.enum ?? error?.properties?.data?.properties?.error_code?.enum ?? [];
  }

  #resolved<Node extends { readonly $ref?: string }>(node: Node): Node {
    if (node.$ref === undefined) return node;
    const parts = node.$ref.replace('#/', '').split('/');
    let found: unknown = this.#document;
    for (const part of parts) found = (found as Record<string, unknown>)[part];
    assert.ok(found, `${node.$ref} leads nowhere`);
    return found as Node;
  }
}

/**
 * `error_code` if the body is an error's, in the envelope or in the form of JSON-RPC; some errors have no body, and a
 * probe's response has another form.
 */
export function errorCode(text: string): string | undefined {
  try {
    const body = JSON.parse(text) as { error_code?: string; error?: { data?: { error_code?: string } } };
    return body.error_code ?? body.error?.data?.error_code;
  } catch {
    return undefined;
  }
}

/** References within the document, made absolute. */
function absolute(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', `"$ref":"${DOCUMENT_ID}#/`)) as object;
}
