// Rules of ESLint that warn, so that it ends with 0 whatever it finds.
module.exports = [
  {
    files: ["**/*.js"],
    // Comments in the sources name rules of plugins that are not here.
    linterOptions: { noInlineConfig: true },
    languageOptions: { sourceType: "commonjs" },
    rules: {
      complexity: "warn",
      eqeqeq: "warn",
      "max-depth": "warn",
      "no-shadow": "warn",
      "no-unused-vars": "warn",
      "no-use-before-define": "warn",
      "prefer-const": "warn",
    },
  },
];
