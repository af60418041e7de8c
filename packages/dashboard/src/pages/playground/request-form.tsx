/** The form of a request, and the bar with the run button. */
import {
  Button,
  Group,
  List,
  NativeSelect,
  Paper,
  SegmentedControl,
  Input as MantineInput,
  Stack,
  Text,
  Title,
} from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { IconAlertTriangle, IconBulb, IconPlayerPlayFilled, IconRotate } from '@tabler/icons-react';
import { useMemo, useRef, useState } from 'react';
import type { FormEvent, KeyboardEvent } from 'react';
import { isRetryable } from '../../api/api.ts';
import { useEstimate } from '../../api/estimate.ts';
import type { ModelDetail } from '../../api/models.ts';
import { pressFor, useCreateTask } from '../../api/tasks-run.ts';
import { Note } from '../../components/note.tsx';
import { ErrorState } from '../../components/states.tsx';
import { texts } from '../../texts/playground.ts';
import type { Schema } from '../models/schema-rows.ts';
import { EstimateLine } from './estimate-line.tsx';
import { exampleInput } from './input-data.ts';
import type { Input } from './input-data.ts';
import { inputErrors, serviceErrors } from './input-errors.ts';
import { InputForm } from './input-form.tsx';
import classes from './playground.module.css';
import type { DraftState } from './use-draft.ts';
import { useRuns } from './use-runs.ts';

export function RequestForm({ model, draft: state }: { readonly model: ModelDetail; readonly draft: DraftState }) {
  const { draft, request, change, replace } = state;
  const schema = model.input_schema as Schema;
  const form = useRef<HTMLFormElement>(null);
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const [wasPressed, setPressed] = useState(false);
  const { add } = useRuns();
  const create = useCreateTask((taskId, sent) => add({ taskId, request: sent }));
  const { estimate, isCurrent } = useEstimate(request, true);
  const own = useMemo(() => inputErrors(schema, request.input), [schema, request.input]);
  const found = serviceErrors(schema, isCurrent ? (estimate?.violations ?? []) : [], own);
  const errors = [...own, ...found.fields];
  // Errors of fields that the user has not reached yet are not shown.
  const shown = wasPressed ? errors : errors.filter(({ path: [name] }) => name !== undefined && touched.has(name));

  const submit = (event?: FormEvent): void => {
    event?.preventDefault();
    setPressed(true);
    if (create.isPending) return;
    if (errors.length > 0) focusFirst(form.current, schema, new Set(errors.map(({ path: [name] }) => name)));
    else create.mutate(pressFor(request));
  };
  const runByKey = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event);
  };
  const startWith = (input: Input): void => {
    setTouched(new Set());
    setPressed(false);
    create.reset();
    replace({ input });
  };
  const [nextExample, setNextExample] = useState(0);
  const fillIn = (): void => {
    startWith(exampleInput(model, nextExample));
    setNextExample((nextExample + 1) % model.examples.length);
  };
  return (
    // Everything in it can be reached without them; the keys are only shortcuts.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <form ref={form} onSubmit={submit} onKeyDown={runByKey} noValidate>
      <Paper withBorder p="md">
        <Group justify="space-between" mb="sm">
          <Title order={2} size="h5">
            {texts.inputTitle}
          </Title>
          <Group gap="xs">
            <Button
              size="compact-sm"
              variant="default"
              onClick={fillIn}
              leftSection={<IconBulb size={14} aria-hidden />}
            >
              {texts.example}
            </Button>
            <Button
              size="compact-sm"
              variant="default"
              onClick={() => startWith({})}
              leftSection={<IconRotate size={14} aria-hidden />}
            >
              {texts.reset}
            </Button>
          </Group>
        </Group>
        <InputForm
          schema={schema}
          value={draft.input}
          errors={shown}
          onChange={(input) => {
            const changed = Object.keys({ ...draft.input, ...input }).filter(
              (name) => draft.input[name] !== input[name],
            );
            if (changed.length === 0) return;
            setTouched(new Set([...touched, ...changed]));
            change({ input });
          }}
        />
        <Delivery model={model} state={state} />
        <div className={classes['bar']}>
          <Stack gap="xs">
            {found.others.length === 0 || own.length > 0 ? null : (
              <Note color="red" icon={<IconAlertTriangle aria-hidden />} title={texts.alsoWrong} role="alert">
                <List size="sm">
                  {found.others.map((each) => (
                    <List.Item key={each}>{each}</List.Item>
                  ))}
                </List>
              </Note>
            )}
            {create.error === null ? null : (
              <ErrorState
                error={create.error}
                {...(isRetryable(create.error) && create.variables !== undefined
                  ? { onRetry: () => create.variables !== undefined && create.mutate(create.variables) }
                  : {})}
              />
            )}
            <Text size="sm" c="var(--mantine-color-error)" role="status">
              {wasPressed && errors.length > 0
                ? texts.invalid(new Set(errors.map(({ path: [name] }) => name)).size)
                : null}
            </Text>
            <Group justify="space-between" wrap="nowrap">
              <EstimateLine estimate={estimate} isCurrent={isCurrent} isComplete={own.length === 0} />
              <BusyButton
                type="submit"
                isBusy={create.isPending}
                leftSection={<IconPlayerPlayFilled size={16} aria-hidden />}
                title={texts.runHint}
                flex="none"
              >
                {texts.run}
              </BusyButton>
            </Group>
          </Stack>
        </div>
      </Paper>
    </form>
  );
}

function Delivery({ model, state }: { readonly model: ModelDetail; readonly state: DraftState }) {
  const { draft, change } = state;
  return (
    <Stack gap="lg" mt="lg">
      {model.routes.length > 1 ? (
        <NativeSelect
          label={texts.route}
          description={texts.routeHint}
          data={[...model.routes]}
          value={draft.route ?? 'default'}
          onChange={({ currentTarget }) => change({ route: currentTarget.value })}
        />
      ) : null}
      <MantineInput.Wrapper label={texts.storage} labelElement="div" description={texts.storageHint}>
        <SegmentedControl
          aria-label={texts.storage}
          mt={6}
          size="xs"
          value={draft.storage ?? 'temp'}
          onChange={(storage) => change({ storage: storage === 'persistent' ? 'persistent' : 'temp' })}
          data={[
            { value: 'temp', label: texts.storages.temp },
            { value: 'persistent', label: texts.storages.persistent },
          ]}
        />
      </MantineInput.Wrapper>
    </Stack>
  );
}

/** Moves the focus to the first invalid field, in the order of the form. */
function focusFirst(
  form: HTMLFormElement | null,
  { properties = {} }: Schema,
  wrong: ReadonlySet<string | undefined>,
): void {
  const name = Object.keys(properties).find((each) => wrong.has(each));
  const field = name === undefined ? null : form?.querySelector<HTMLElement>(`[id="input_${CSS.escape(name)}"]`);
  field?.focus();
}
