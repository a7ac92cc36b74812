import { readFileSync } from 'node:fs';

// npm leaves packages of other platforms out of the lock file when it cannot
// fetch them, and `npm ci` then refuses the file. They are put in by hand, with
// version, cpu and os alone.

const { packages } = JSON.parse(readFileSync(new URL('./package-lock.json', import.meta.url), 'utf8'));
const missing = Object.values(packages)
  .flatMap(({ optionalDependencies = {} }) => Object.entries(optionalDependencies))
  .filter(([name, version]) => /^\d/.test(version) && packages[`node_modules/${name}`]?.version !== version);

if (missing.length > 0) {
  const list = missing.map(([name, version]) => `${name}@${version}`).join(', ');
  console.error(
    `package-lock.json lacks ${list}: add an entry for each, as those of @o1js/native-* are, with version, optional, cpu and os`,
  );
  process.exit(1);
}
