#!/usr/bin/env node
// Not the built file itself, so that npm can link it before anything is built.
import '../dist/src/bin.js';
