/** The scopes of a new key, in plain words; scopes that cannot be granted are shown, but cannot be selected. */
import { Button, Checkbox, Code, Fieldset, Group, Input, Stack, Text } from '@mantine/core';
import type { Scope } from '@darkroom/api/facts/scopes';
import { texts } from '../../texts/keys.ts';

const { creation: words } = texts;

export function ScopeChoice(props: {
  readonly available: readonly Scope[];
  readonly hint: string;
  readonly chosen: readonly Scope[];
  readonly onChange: (scopes: readonly Scope[]) => void;
  readonly error: string | undefined;
}) {
  const { available, hint, chosen, onChange, error } = props;
  const toggle = (scope: Scope, isChosen: boolean): void =>
    onChange(isChosen ? [...chosen, scope] : chosen.filter((each) => each !== scope));
  return (
    <Fieldset legend={words.scopes}>
      <Text size="sm" c="dimmed">
        {hint}
      </Text>
      <Group gap="xs" my="xs">
        <Button size="compact-xs" variant="default" onClick={() => onChange(available)}>
          {words.selectAll}
        </Button>
        <Button size="compact-xs" variant="default" onClick={() => onChange([])}>
          {words.selectNone}
        </Button>
      </Group>
      <Stack gap="md">
        {texts.scopeGroups.map((group) => (
          <Stack key={group.name} gap={6} role="group" aria-label={group.name}>
            <Text size="sm" fw={600} aria-hidden>
              {group.name}
            </Text>
            {group.scopes.map((scope) => {
              const isAvailable = available.includes(scope);
              return (
                <Checkbox
                  key={scope}
                  label={texts.scopes[scope]}
                  description={
                    <>
                      <Code>{scope}</Code>
                      {isAvailable ? null : ` ${words.missingScope}`}
                    </>
                  }
                  checked={chosen.includes(scope)}
                  disabled={!isAvailable}
                  onChange={({ currentTarget }) => toggle(scope, currentTarget.checked)}
                  {...(error === undefined ? {} : { 'aria-invalid': true })}
                />
              );
            })}
          </Stack>
        ))}
      </Stack>
      {error === undefined ? null : <Input.Error mt="xs">{error}</Input.Error>}
    </Fieldset>
  );
}
