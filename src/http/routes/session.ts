/**
 * `/session`: signing in to the dashboard with a key or a link, and out of it (contract, "Conventions").
 */
import { readAccount } from '../../accounts/accounts.ts';
import { UnauthenticatedError } from '../../accounts/authenticate.ts';
import { readKey } from '../../accounts/keys.ts';
import { isSecret, redeemSignInLink } from '../../accounts/sessions.ts';
import type { StartedSession } from '../../accounts/sessions.ts';
import { DatabaseUnavailableError } from '../../database/database.ts';
import { EndSessionQuerySchema, EndedSessionsSchema, SessionSchema, SignInSchema } from '@darkroom/api/tasks/session';
import { presentSession } from '../../presenters/key.ts';
import type { HttpContext } from '../app/context.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import { RequestError } from '../app/errors.ts';
import { countFailedAuthentication, countUncheckedAuthentication } from '../middleware/limits.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { DASHBOARD_HEADER } from '../middleware/session-cookie.ts';
import { workflowsUrl } from '../app/workflow-links.ts';

const PATH = '/session';
const headers = {
  [DASHBOARD_HEADER]:
    'Any value. Pages of other origins cannot set this header, so it shows that the request comes from the dashboard. Without it, the session cookie is ignored.',
};

/** For an invalid link: its error differs from that of a key, because the remedy is another one. */
function invalidSignInLink(): RequestError {
  const message = 'this sign-in link has already been used or is more than 10 minutes old; create a new one';
  return new RequestError('unauthenticated', message);
}

export function sessionRoutes(http: HttpContext): readonly Route[] {
  const { database, authenticator, sessions, sessionCookie } = http;
  const workflows = workflowsUrl(http.config);
  const service = {
    baseUrl: `${http.urlSigner.publicUrl}/v1`,
    ...(workflows === undefined ? {} : { workflowsUrl: workflows }),
    isEmbedded: http.config.isStandalone,
    signatureHeaderPrefix: http.config.callbacks.headerPrefix,
  };

  const present = async (accountId: string, keyId: string, expiresAt: Date | undefined) => {
    const [account, key] = await Promise.all([readAccount(database, accountId), readKey(database, keyId, accountId)]);
    return presentSession(account, key, expiresAt, service);
  };

  /** The key is looked up before the transaction begins; without a usable key none begins. */
  const beginByKey = async (key: string): Promise<StartedSession> => {
    const { keyId, scopes } = await authenticator.authenticate(`Bearer ${key}`);
    if (!scopes.has('dashboard')) throw new UnauthenticatedError();
    return database.transaction((transaction) => sessions.begin(transaction, keyId));
  };

  /** The link is used up only where its session begins. */
  const beginByLink = async (secret: string): Promise<StartedSession> => {
    if (!isSecret(secret)) throw invalidSignInLink();
    return database.transaction(async (transaction) => {
      const keyId = await redeemSignInLink(transaction, secret, http.now());
      if (keyId === undefined) throw invalidSignInLink();
      return sessions.begin(transaction, keyId);
    });
  };

  return [
    defineRoute({
      method: 'POST',
      path: PATH,
      operationId: 'signIn',
      tag: 'Dashboard',
      summary: 'Sign in to the dashboard',
      description:
        'Accepts a key, or a sign-in link from `npm start` or `npm run admin -- sign-in-link`. Sets a session cookie that is valid for 8 hours. The session has exactly the permissions of its key and ends when the key ends.',
      access: 'none',
      headers,
      body: { kind: 'json', schema: SignInSchema },
      response: { kind: 'data', schema: SessionSchema },
      errors: ['UNAUTHORIZED', 'FORBIDDEN', 'RATE_LIMITED'],
      async handle({ ctx, body }) {
        sessionCookie.requireDashboard(ctx.req);
        try {
          const begun = await (body.key === undefined ? beginByLink(body.link ?? '') : beginByKey(body.key));
          const caller = await authenticator.authenticateSession(begun.secret);
          ctx.set('Set-Cookie', sessionCookie.set(begun.secret));
          return await present(caller.accountId, caller.keyId, begun.expiresAt);
        } catch (error) {
          if (error instanceof DarkroomError && error.kind === 'unauthenticated') {
            await countFailedAuthentication(http, ctx.req);
          } else if (error instanceof DatabaseUnavailableError) {
            countUncheckedAuthentication(http, ctx.req);
          }
          throw error;
        }
      },
    }),
    defineRoute({
      method: 'GET',
      path: PATH,
      operationId: 'getSession',
      tag: 'Dashboard',
      summary: 'Get the session',
      description: 'Returns the account, the key and the permissions of the session. An API key is also accepted.',
      access: 'any',
      headers,
      response: { kind: 'data', schema: SessionSchema },
      async handle({ ctx, caller }) {
        const secret = ctx.req.headers.authorization === undefined ? sessionCookie.read(ctx.req) : undefined;
        const session = secret === undefined ? undefined : await sessions.find(secret);
        ctx.set('Cache-Control', 'no-store');
        return present(caller.accountId, caller.keyId, session?.expiresAt);
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: PATH,
      operationId: 'signOut',
      tag: 'Dashboard',
      summary: 'Sign out of the dashboard',
      description:
        'Ends the session of the request. A request with an API key ends no session, unless `everywhere` ends all sessions of that key.',
      access: 'any',
      headers,
      query: EndSessionQuerySchema,
      response: { kind: 'data', schema: EndedSessionsSchema },
      async handle({ ctx, caller, query }) {
        const secret = ctx.req.headers.authorization === undefined ? sessionCookie.read(ctx.req) : undefined;
        if (secret !== undefined) ctx.set('Set-Cookie', sessionCookie.set(undefined));
        if (query.everywhere === true) return { ended: await sessions.endAll(caller.keyId) };
        if (secret === undefined) return { ended: 0 };
        await sessions.end(secret);
        return { ended: 1 };
      },
    }),
  ];
}
