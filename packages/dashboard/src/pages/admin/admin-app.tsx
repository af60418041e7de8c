/**
 * The operator's pages, on the admin listener. The page first prompts for the token and keeps it for its tab, so that a
 * reload does not ask for it again, until the tab is closed, the operator signs out, or the token is no longer valid.
 */
import { useQueryClient } from '@tanstack/react-query';
import { Suspense, useMemo, useState } from 'react';
import { Route, Switch, useLocation } from 'wouter';
import { OperatorContext } from '../../api/admin.ts';
import type { Operator } from '../../api/admin.ts';
import { ErrorBoundary } from '../../components/error-boundary.tsx';
import { lazyPage } from '../../components/load-page.ts';
import { LoadingState } from '../../components/states.tsx';
import { texts } from '../../texts/admin.ts';
import { NotFoundPage } from '../not-found.tsx';
import { AccountsPage } from './accounts-page.tsx';
import { OperatorShell } from './operator-shell.tsx';
import { OperatorSignIn, forgetToken } from './operator-sign-in.tsx';

const loadAccountPage = () => import('./account-page.tsx');
const loadServicePage = () => import('./service-page.tsx');
const loadTaskPage = () => import('./task-page.tsx');
const loadWorkPage = () => import('./work-page.tsx');
const AccountPage = lazyPage(loadAccountPage);
const ServicePage = lazyPage(loadServicePage);
const TaskPage = lazyPage(loadTaskPage);
const WorkPage = lazyPage(loadWorkPage);

/** Loads all pages while the listener answers. */
function loadAhead(): void {
  for (const load of [loadAccountPage, loadServicePage, loadTaskPage, loadWorkPage]) load().catch(() => undefined);
}

export default function AdminApp() {
  const [at] = useLocation();
  const client = useQueryClient();
  const [signedIn, setSignedIn] = useState<Pick<Operator, 'api' | 'service'>>();
  const [note, setNote] = useState<string>();
  const operator = useMemo((): Operator | undefined => {
    if (signedIn === undefined) return undefined;
    return {
      ...signedIn,
      signOut() {
        client.clear();
        forgetToken();
        setSignedIn(undefined);
      },
    };
  }, [client, signedIn]);

  if (operator === undefined) {
    return (
      <OperatorSignIn
        note={note}
        onSignedIn={(signedInAs) => {
          setNote(undefined);
          setSignedIn(signedInAs);
          loadAhead();
        }}
        onExpired={() => {
          client.clear();
          forgetToken();
          setNote(texts.tokenEnded);
          setSignedIn(undefined);
        }}
      />
    );
  }
  return (
    <OperatorContext value={operator}>
      <OperatorShell>
        <ErrorBoundary at={at}>
          <Suspense fallback={<LoadingState />}>
            <Switch>
              <Route path="/" component={AccountsPage} />
              <Route path="/accounts" component={AccountsPage} />
              <Route path="/accounts/:accountId/:part?">
                {({ accountId, part }) => <AccountPage key={accountId} accountId={accountId} part={part} />}
              </Route>
              <Route path="/service" component={ServicePage} />
              <Route path="/work" component={WorkPage} />
              <Route path="/service/tasks/:taskId">{({ taskId }) => <TaskPage taskId={taskId} />}</Route>
              <Route component={NotFoundPage} />
            </Switch>
          </Suspense>
        </ErrorBoundary>
      </OperatorShell>
    </OperatorContext>
  );
}
